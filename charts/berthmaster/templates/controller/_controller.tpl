{{/* What the controller is told. */}}

{{- define "berthmaster.controllerTlsSecretName" -}}
{{- if .Values.controller.tls.existingSecret -}}
{{ .Values.controller.tls.existingSecret }}
{{- else if .Values.certManager.enabled -}}
{{ include "berthmaster.controllerFullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "berthmaster.controllerArgs" -}}
- controller
{{ include "berthmaster.profileArgs" . }}
- --leader-elect-resource-namespace={{ .Release.Namespace }}
- --leader-elect-resource-name={{ include "berthmaster.controllerFullname" . }}
- --secure-port={{ int .Values.controller.port }}
- --authorization={{ .Values.controller.authorization }}
- --log-format={{ .Values.controller.logging.format }}
- --v={{ int .Values.controller.logging.verbosity }}
{{- if include "berthmaster.controllerTlsSecretName" . }}
- --tls-cert-file=/etc/berthmaster/tls/tls.crt
- --tls-private-key-file=/etc/berthmaster/tls/tls.key
{{- end }}
{{- with .Values.controller.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Two controllers, each with a Lease of its own, would both write every status. */}}
{{- define "berthmaster.refuseSecondController" -}}
{{- with include "berthmaster.otherReleaseWith" (dict "root" . "annotation" "berthmaster.dev/controller") -}}
{{- fail (printf "the controller of %s serves the whole cluster: have none here (controller.enabled=false)" .) -}}
{{- end -}}
{{- end -}}
