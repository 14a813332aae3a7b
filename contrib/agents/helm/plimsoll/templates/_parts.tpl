{{/* Names have at most 40 characters, so that what is appended fits into a label. */}}
{{- define "plimsoll.name" -}}
{{- printf "%s-plimsoll" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "plimsoll.selector" -}}
app.kubernetes.io/name: plimsoll
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plimsoll.labels" -}}
{{ include "plimsoll.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "plimsoll.image" -}}
{{- $repository := required "image.repository: set the repository of the image, as the nodes pull it" .Values.image.repository -}}
{{- $tag := required "image.tag: set the tag or the digest of the image" .Values.image.tag -}}
{{- printf "%s%s%s" $repository (ternary "@" ":" (hasPrefix "sha256:" $tag)) $tag -}}
{{- end -}}

{{/* Of every pod: no privileges, no account of the cluster. */}}
{{- define "plimsoll.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "plimsoll.user" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
fsGroup: 65534
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "plimsoll.container" -}}
image: {{ include "plimsoll.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Requests and limits are the same, which makes the pod's class Guaranteed; whole cores can be exclusive. */}}
{{- define "plimsoll.resources" -}}
resources:
  requests: {cpu: {{ .cores | toString | quote }}, memory: {{ .memory }}}
  limits: {cpu: {{ .cores | toString | quote }}, memory: {{ .memory }}}
{{- end -}}

{{/* Rules of egress to the names of the cluster and to the targets. */}}
{{- define "plimsoll.egress" -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: kube-system
      podSelector:
        matchLabels:
          k8s-app: kube-dns
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- range .Values.targets }}
- to:
    - ipBlock:
        cidr: {{ .cidr | quote }}
  ports:
    {{- range .ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- end }}
{{- end -}}
