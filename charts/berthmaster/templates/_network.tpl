{{/* What both kinds of Pods let in, and what they reach: the API server, and DNS for its name. */}}

{{- define "berthmaster.ingress" -}}
ingress:
  - ports:
      - port: https
        protocol: TCP
    {{- with .Values.networkPolicy.ingressFrom }}
    from:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end -}}

{{- define "berthmaster.egress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - port: {{ int . }}
      protocol: TCP
    {{- end }}
{{- end -}}
