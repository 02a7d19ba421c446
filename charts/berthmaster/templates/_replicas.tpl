{{/* What Deployments have in common: where their Pods go, and how they are replaced. */}}

{{/*
Where the Pods go: the values' affinity, and the anti-affinity that was chosen unless that has one. values (of the
Deployment), selectorLabels.
*/}}
{{- define "berthmaster.affinity" -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (.selectorLabels | fromYaml)) -}}
{{- $preset := dict -}}
{{- if eq .values.podAntiAffinity "preferred" -}}
{{- $preset = dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term)) -}}
{{- else if eq .values.podAntiAffinity "required" -}}
{{- $preset = dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term) -}}
{{- end -}}
{{- $affinity := deepCopy .values.affinity -}}
{{- if and $preset (not (hasKey $affinity "podAntiAffinity")) -}}
{{- $affinity = set $affinity "podAntiAffinity" $preset -}}
{{- end -}}
{{- if $affinity }}{{ toYaml $affinity }}{{ end -}}
{{- end -}}

{{/* How replicas that elect one are replaced; the values of the Deployment. */}}
{{- define "berthmaster.rollingUpdate" -}}
type: RollingUpdate
rollingUpdate:
  {{- if and (eq .podAntiAffinity "required") (gt (int .replicas) 1) }}
  # With a Node for each replica there is none for one more.
  maxSurge: 0
  maxUnavailable: 1
  {{- else }}
  # A new replica knows the cluster before an old one gives its Lease back.
  maxSurge: 1
  maxUnavailable: 0
  {{- end }}
{{- end -}}
