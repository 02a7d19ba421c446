{{/* Names, labels and the image. */}}

{{- define "berthmaster.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 40 characters, so that suffixes fit into the 63 of a label. */}}
{{- define "berthmaster.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "berthmaster.schedulerFullname" -}}
{{- include "berthmaster.fullname" . }}-scheduler
{{- end -}}

{{- define "berthmaster.agentFullname" -}}
{{- include "berthmaster.fullname" . }}-agent
{{- end -}}

{{/* The beginning of names of objects without a namespace. A namespace has no dot, so that no two releases share it. */}}
{{- define "berthmaster.clusterName" -}}
{{ .Release.Namespace }}.{{ include "berthmaster.fullname" . }}
{{- end -}}

{{- define "berthmaster.metricsReaderName" -}}
{{ include "berthmaster.clusterName" . }}-metrics-reader
{{- end -}}

{{- define "berthmaster.selectorLabels" -}}
app.kubernetes.io/name: {{ include "berthmaster.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berthmaster.labels" -}}
{{- with .Values.commonLabels }}
{{- toYaml . }}
{{ end -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "berthmaster.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "berthmaster.schedulerSelectorLabels" -}}
{{ include "berthmaster.selectorLabels" . }}
app.kubernetes.io/component: scheduler
{{- end -}}

{{- define "berthmaster.schedulerLabels" -}}
{{ include "berthmaster.labels" . }}
app.kubernetes.io/component: scheduler
{{- end -}}

{{- define "berthmaster.agentSelectorLabels" -}}
{{ include "berthmaster.selectorLabels" . }}
app.kubernetes.io/component: agent
{{- end -}}

{{- define "berthmaster.agentLabels" -}}
{{ include "berthmaster.labels" . }}
app.kubernetes.io/component: agent
{{- end -}}

{{- define "berthmaster.schedulerServiceAccountName" -}}
{{- $default := ternary (include "berthmaster.schedulerFullname" .) "default" .Values.scheduler.serviceAccount.create -}}
{{- default $default .Values.scheduler.serviceAccount.name -}}
{{- end -}}

{{- define "berthmaster.agentServiceAccountName" -}}
{{- $default := ternary (include "berthmaster.agentFullname" .) "default" .Values.agent.serviceAccount.create -}}
{{- default $default .Values.agent.serviceAccount.name -}}
{{- end -}}

{{- define "berthmaster.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}
