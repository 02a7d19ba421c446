{{/* What the scheduler may do. docs/rbac.md says what each right is for; a test takes each away in turn. */}}

{{- define "berthmaster.schedulerRules" -}}
# What decisions are made of. Single Pods are read after a Binding whose answer was lost, single
# Pods and Nodes for extenders that want them whole.
- apiGroups: [""]
  resources: [nodes, pods]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [namespaces, services, replicationcontrollers]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch]
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [list, watch]
# Volumes: what there is, and what comes of claims.
- apiGroups: [""]
  resources: [persistentvolumes, persistentvolumeclaims]
  verbs: [list, watch, patch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csinodes, csidrivers, csistoragecapacities, volumeattachments]
  verbs: [list, watch]
# Devices: what there is, and what claims are given.
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses, resourceslices]
  verbs: [list, watch]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims/status, resourceclaims/binding]
  verbs: [patch]
# What comes of them; victims of preemption are told why, and deleted.
- apiGroups: [""]
  resources: [pods]
  verbs: [delete]
- apiGroups: [""]
  resources: [pods/binding]
  verbs: [create]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# Who may read /metrics, /configz and /explain.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}

{{/* What system:kube-scheduler and system:volume-scheduler lack: the first in every version, the second in old ones. */}}
{{- define "berthmaster.rulesBesideSystemRoles" -}}
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [volumeattachments]
  verbs: [list, watch]
{{- end -}}

{{/* For Pods that start together, and for profiles that change live; those beside system roles, too. */}}
{{- define "berthmaster.customResourceRules" -}}
{{- if .Values.podGroups.enabled }}
# Groups by either API.
- apiGroups: [scheduling.x-k8s.io, scheduling.k8s.io]
  resources: [podgroups]
  verbs: [list, watch]
{{- end }}
{{- if .Values.schedulerProfiles.enabled }}
# Profiles, of which each scheduler tells what it runs.
- apiGroups: [berthmaster.dev]
  resources: [schedulerprofiles]
  verbs: [list, watch]
- apiGroups: [berthmaster.dev]
  resources: [schedulerprofiles/status]
  verbs: [patch]
{{- end }}
{{- end -}}

{{/* `berthmaster explain` comes with a token of this account; RBAC says who may have one. */}}
{{- define "berthmaster.explainRule" -}}
- nonResourceURLs: ["/explain/*"]
  verbs: [get, post]
{{- end -}}

{{/* To find the leader: the leader election's settings. */}}
{{- define "berthmaster.readLeaseRule" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .resourceName }}]
  verbs: [get]
{{- end -}}
