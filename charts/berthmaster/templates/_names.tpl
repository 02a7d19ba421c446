{{/* Names, labels and the image; other releases. */}}

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

{{- define "berthmaster.controllerFullname" -}}
{{- include "berthmaster.fullname" . }}-controller
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

{{- define "berthmaster.controllerSelectorLabels" -}}
{{ include "berthmaster.selectorLabels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "berthmaster.controllerLabels" -}}
{{ include "berthmaster.labels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "berthmaster.schedulerServiceAccountName" -}}
{{- $default := ternary (include "berthmaster.schedulerFullname" .) "default" .Values.scheduler.serviceAccount.create -}}
{{- default $default .Values.scheduler.serviceAccount.name -}}
{{- end -}}

{{- define "berthmaster.agentServiceAccountName" -}}
{{- $default := ternary (include "berthmaster.agentFullname" .) "default" .Values.agent.serviceAccount.create -}}
{{- default $default .Values.agent.serviceAccount.name -}}
{{- end -}}

{{- define "berthmaster.controllerServiceAccountName" -}}
{{- $default := ternary (include "berthmaster.controllerFullname" .) "default" .Values.controller.serviceAccount.create -}}
{{- default $default .Values.controller.serviceAccount.name -}}
{{- end -}}

{{- define "berthmaster.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/*
Another release that has told something by an annotation of a ClusterRole, as `release … in namespace …`; empty where there is
none. root, annotation.
*/}}
{{- define "berthmaster.otherReleaseWith" -}}
{{- $found := "" -}}
{{- range default list (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items -}}
{{- $annotations := default dict .metadata.annotations -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- $isOurs := and (eq $release $.root.Release.Name) (eq $namespace $.root.Release.Namespace) -}}
{{- if and (hasKey $annotations $.annotation) (not $isOurs) -}}
{{- $found = printf "release %s in namespace %s" $release $namespace -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}
