{{/* What the agent is told. */}}

{{- define "berthmaster.agentTlsSecretName" -}}
{{- if .Values.agent.tls.existingSecret -}}
{{ .Values.agent.tls.existingSecret }}
{{- else if .Values.certManager.enabled -}}
{{ include "berthmaster.agentFullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "berthmaster.agentArgs" -}}
- agent
- --secure-port={{ int .Values.agent.port }}
- --authorization={{ .Values.agent.authorization }}
- --log-format={{ .Values.agent.logging.format }}
- --v={{ int .Values.agent.logging.verbosity }}
{{- if include "berthmaster.agentTlsSecretName" . }}
- --tls-cert-file=/etc/berthmaster/tls/tls.crt
- --tls-private-key-file=/etc/berthmaster/tls/tls.key
{{- end }}
{{- with .Values.agent.kubelet }}
{{- if and .enabled .insecureTLS }}
- --kubelet-insecure-tls
{{- else if .enabled }}
- --kubelet-certificate-authority={{ default "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt" .certificateAuthority }}
{{- end }}
{{- end }}
{{- if .Values.agent.staticPods.enabled }}
- --static-pod-path=/host/manifests
{{- end }}
{{- if .Values.agent.podFolders.enabled }}
- --kubelet-pods-path=/host/pods
- --pod-logs-path=/host/pod-logs
{{- end }}
{{- if .Values.agent.events.read }}
- --read-events
{{- end }}
{{- if .Values.agent.events.write }}
- --write-events
{{- end }}
{{- with .Values.agent.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Whether files of the host are read. */}}
{{- define "berthmaster.agentReadsHost" -}}
{{- if or .Values.agent.staticPods.enabled .Values.agent.podFolders.enabled -}}true{{- end -}}
{{- end -}}

{{/* Static manifests, and the folders of Pods, are root's and closed to others: their owner needs no capability. */}}
{{- define "berthmaster.agentPodSecurityContext" -}}
{{- $context := deepCopy .Values.agent.podSecurityContext -}}
{{- if include "berthmaster.agentReadsHost" . -}}
{{- $context = mergeOverwrite $context (dict "runAsNonRoot" false "runAsUser" 0 "runAsGroup" 0) -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}
