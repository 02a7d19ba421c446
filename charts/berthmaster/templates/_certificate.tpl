{{/* The spec of a Certificate for the Service `name`; it goes into the Secret `name`-tls. */}}
{{- define "berthmaster.certificate" -}}
{{- $manager := .root.Values.certManager -}}
secretName: {{ .name }}-tls
duration: {{ $manager.duration }}
renewBefore: {{ $manager.renewBefore }}
privateKey:
  algorithm: ECDSA
  size: 256
  rotationPolicy: Always
usages: [server auth]
dnsNames:
  - {{ .name }}
  - {{ .name }}.{{ .root.Release.Namespace }}
  - {{ .name }}.{{ .root.Release.Namespace }}.svc
issuerRef:
  name: {{ required "certManager.issuerRef.name: name an issuer" $manager.issuerRef.name }}
  kind: {{ $manager.issuerRef.kind }}
  group: {{ $manager.issuerRef.group }}
{{- end -}}
