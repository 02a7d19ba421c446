{{/* What Prometheus and Grafana are told. */}}

{{/* Whether the operator's kinds are wanted and known here; not empty: yes. */}}
{{- define "berthmaster.hasServiceMonitor" -}}
{{- if and .Values.monitoring.serviceMonitor.enabled .Values.scheduler.service.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}yes{{ end -}}
{{- end -}}

{{- define "berthmaster.hasControllerMonitor" -}}
{{- if and .Values.monitoring.serviceMonitor.enabled .Values.controller.enabled .Values.controller.service.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}yes{{ end -}}
{{- end -}}

{{- define "berthmaster.hasPodMonitor" -}}
{{- if and .Values.monitoring.podMonitor.enabled .Values.agent.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}yes{{ end -}}
{{- end -}}

{{/* Whether a monitor here has to show a token; not empty: yes. */}}
{{- define "berthmaster.needsToken" -}}
{{- if or
    (and (include "berthmaster.hasServiceMonitor" .) (eq .Values.scheduler.authorization "rbac"))
    (and (include "berthmaster.hasControllerMonitor" .) (eq .Values.controller.authorization "rbac"))
    (and (include "berthmaster.hasPodMonitor" .) (eq .Values.agent.authorization "rbac")) }}yes{{ end -}}
{{- end -}}

{{/* The ServiceAccount whose token Prometheus shows, and the Secret with it. */}}
{{- define "berthmaster.scraperName" -}}
{{ include "berthmaster.fullname" . }}-scraper
{{- end -}}

{{/*
The annotations of Pods for a Prometheus without the operator: root, port.
*/}}
{{- define "berthmaster.scrapeAnnotations" -}}
{{- if .root.Values.monitoring.annotations.enabled -}}
prometheus.io/scrape: "true"
prometheus.io/scheme: https
prometheus.io/path: /metrics
prometheus.io/port: {{ int .port | quote }}
{{- end -}}
{{- end -}}

{{/*
How one endpoint is scraped: root, values (of the monitor), authorization, service (for the certificate's name),
ownCertificate (a Secret that the user gave), path, honorLabels, job, relabelings (before the user's).
*/}}
{{- define "berthmaster.scrapeEndpoint" -}}
port: https
scheme: https
path: {{ .path }}
{{- with .values.interval }}
interval: {{ . }}
{{- end }}
{{- with .values.scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- if .honorLabels }}
honorLabels: true
{{- end }}
{{- if eq .authorization "rbac" }}
authorization:
  type: Bearer
  credentials:
    name: {{ default (include "berthmaster.scraperName" .root) .root.Values.monitoring.token.existingSecret }}
    key: {{ .root.Values.monitoring.token.key }}
{{- end }}
tlsConfig:
  {{- if .values.tlsConfig }}
  {{- toYaml .values.tlsConfig | nindent 2 }}
  {{- else if and .root.Values.certManager.enabled (not .ownCertificate) }}
  ca:
    secret:
      name: {{ .service }}-tls
      key: ca.crt
  serverName: {{ .service }}.{{ .root.Release.Namespace }}.svc
  {{- else }}
  # Each process signs its own certificate at its start: there is nothing to verify it by.
  insecureSkipVerify: true
  {{- end }}
relabelings:
  # What the rules in rules/ and the dashboards go by.
  - targetLabel: job
    replacement: {{ .job }}
  - targetLabel: release
    replacement: {{ .root.Release.Name }}
  {{- with .relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .values.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .values.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* For NOTES: what was asked for and cannot be had. */}}
{{- define "berthmaster.monitoringNotes" -}}
{{- $monitoring := .Values.monitoring -}}
{{- if and (or $monitoring.serviceMonitor.enabled $monitoring.podMonitor.enabled $monitoring.prometheusRule.enabled)
    (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) }}
The cluster has no monitoring.coreos.com/v1: no monitors and no PrometheusRules were made. Install the Prometheus operator
and upgrade (helm template: --api-versions monitoring.coreos.com/v1), or set monitoring.annotations.enabled.
{{- end }}
{{- end -}}
