{{/* What the scheduler is told: its configuration, flags and certificate. */}}

{{/* The name for profiles that give none. */}}
{{- define "berthmaster.schedulerName" -}}
{{- default (include "berthmaster.fullname" .) .Values.scheduler.schedulerName -}}
{{- end -}}

{{/*
The KubeSchedulerConfiguration, as YAML. What the values say goes before what is filled in here, also where it is false: that
is why nothing is merged.
*/}}
{{- define "berthmaster.schedulerConfig" -}}
{{- $config := deepCopy .Values.scheduler.config -}}
{{- $_ := set $config "apiVersion" "kubescheduler.config.k8s.io/v1" -}}
{{- $_ := set $config "kind" "KubeSchedulerConfiguration" -}}
{{- $election := default dict $config.leaderElection -}}
{{- range $key, $value := dict "leaderElect" true "resourceNamespace" .Release.Namespace "resourceName" (include "berthmaster.fullname" .) -}}
{{- if not (hasKey $election $key) }}{{ $_ := set $election $key $value }}{{ end -}}
{{- end -}}
{{- $_ := set $config "leaderElection" $election -}}
{{- $profiles := default (list dict) $config.profiles -}}
{{- range $profiles -}}
{{- if not (hasKey . "schedulerName") }}{{ $_ := set . "schedulerName" (include "berthmaster.schedulerName" $) }}{{ end -}}
{{- end -}}
{{- $_ := set $config "profiles" $profiles -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "berthmaster.servedNames" -}}
{{- $names := list -}}
{{- range (include "berthmaster.schedulerConfig" . | fromYaml).profiles -}}
{{- $names = append $names .schedulerName -}}
{{- end -}}
{{- join " " $names -}}
{{- end -}}

{{/* The first name that is served: what NOTES and the test use. */}}
{{- define "berthmaster.servedName" -}}
{{- include "berthmaster.servedNames" . | splitList " " | first -}}
{{- end -}}

{{/*
Two releases that serve one name, each with a Lease of its own, would both bind the same Pods. Which names are served is told
by annotations of ClusterRoles.
*/}}
{{- define "berthmaster.refuseNamesServedElsewhere" -}}
{{- $ours := include "berthmaster.servedNames" . | splitList " " -}}
{{- range default list (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items -}}
{{- $annotations := default dict .metadata.annotations -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if not (and (eq $release $.Release.Name) (eq $namespace $.Release.Namespace)) -}}
{{- range get $annotations "berthmaster.dev/scheduler-names" | splitList " " -}}
{{- if and . (has . $ours) -}}
{{- fail (printf "schedulerName %s is served by release %s in namespace %s: give this one another (scheduler.schedulerName)" . $release $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Profiles are for the whole cluster: two releases that follow them would both bind the Pods of each. */}}
{{- define "berthmaster.refuseProfilesFollowedElsewhere" -}}
{{- if .Values.schedulerProfiles.enabled -}}
{{- with include "berthmaster.otherReleaseWith" (dict "root" . "annotation" "berthmaster.dev/scheduler-profiles") -}}
{{- fail (printf "SchedulerProfiles are followed by %s: do not follow them here (schedulerProfiles.enabled=false)" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "berthmaster.pluginsConfigMapName" -}}
{{- if .Values.scheduler.plugins.files -}}
{{ include "berthmaster.schedulerFullname" . }}-plugins
{{- else -}}
{{ .Values.scheduler.plugins.existingConfigMap }}
{{- end -}}
{{- end -}}

{{- define "berthmaster.schedulerTlsSecretName" -}}
{{- if .Values.scheduler.tls.existingSecret -}}
{{ .Values.scheduler.tls.existingSecret }}
{{- else if .Values.certManager.enabled -}}
{{ include "berthmaster.schedulerFullname" . }}-tls
{{- end -}}
{{- end -}}

{{/* What SchedulerProfiles are judged beside, so for the controller, too. */}}
{{- define "berthmaster.profileArgs" -}}
- --config=/etc/berthmaster/config/scheduler.yaml
- --scheduler-name={{ include "berthmaster.servedName" . }}
{{- range .Values.scheduler.plugins.enabled }}
{{- if and (regexMatch "\\.py:" .) (not (hasPrefix "/" .)) }}
- --plugin=/etc/berthmaster/plugins/{{ . }}
{{- else }}
- --plugin={{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A change of them rolls the Pods. */}}
{{- define "berthmaster.profileChecksums" -}}
checksum/config: {{ include "berthmaster.schedulerConfig" . | sha256sum }}
{{- with .Values.scheduler.plugins.files }}
checksum/plugins: {{ toYaml . | sha256sum }}
{{- end }}
{{- end -}}

{{- define "berthmaster.profileVolumeMounts" -}}
- name: config
  mountPath: /etc/berthmaster/config
  readOnly: true
{{- if include "berthmaster.pluginsConfigMapName" . }}
- name: plugins
  mountPath: /etc/berthmaster/plugins
  readOnly: true
{{- end }}
{{- end -}}

{{- define "berthmaster.profileVolumes" -}}
- name: config
  configMap:
    name: {{ include "berthmaster.schedulerFullname" . }}
{{- with include "berthmaster.pluginsConfigMapName" . }}
- name: plugins
  configMap:
    name: {{ . }}
{{- end }}
{{- end -}}

{{- define "berthmaster.schedulerArgs" -}}
- scheduler
{{ include "berthmaster.profileArgs" . }}
- --secure-port={{ int .Values.scheduler.port }}
- --authorization={{ .Values.scheduler.authorization }}
- --log-format={{ .Values.scheduler.logging.format }}
- --v={{ int .Values.scheduler.logging.verbosity }}
{{- if include "berthmaster.schedulerTlsSecretName" . }}
- --tls-cert-file=/etc/berthmaster/tls/tls.crt
- --tls-private-key-file=/etc/berthmaster/tls/tls.key
{{- end }}
{{- if not .Values.schedulerProfiles.enabled }}
- --no-scheduler-profiles
{{- end }}
{{- if not .Values.podGroups.enabled }}
- --no-pod-groups
{{- end }}
{{- with .Values.scheduler.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}
