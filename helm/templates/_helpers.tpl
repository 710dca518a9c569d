{{/* Names are cut so that the longest of them, with its suffix, stays within 63 characters. */}}
{{- define "graphtide.name" -}}
{{- if contains "graphtide" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-graphtide" (.Release.Name | trunc 30 | trimSuffix "-") }}{{ end -}}
{{- end }}

{{- define "graphtide.selector" -}}
app.kubernetes.io/name: graphtide
app.kubernetes.io/instance: {{ .root.Release.Name | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "graphtide.labels" -}}
{{ include "graphtide.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "graphtide.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "graphtide.secret" -}}
{{- if .Values.secret.existing }}{{ .Values.secret.existing }}
{{- else if .Values.secret.values }}{{ include "graphtide.name" . }}-secret{{ end -}}
{{- end }}

{{/* Old name: present name, as in infra/renamed_settings.py: accepted for one release. */}}
{{- define "graphtide.renamed" -}}
budget_stops_questions: budget_blocks_queries
drain_s: shutdown_delay_s
insecure: allow_unauthenticated
jwt_claim: jwt_permissions_claim
llm_judge: llm_entity_judge
max_batch: max_batch_documents
metrics_open: metrics_public
otlp_sampled_share: otlp_sample_ratio
prompts: prompts_dir
query: query_target
reports_lazy: lazy_reports
reports_least_change: report_change_threshold
single_valued: functional_predicates_file
tries_per_minute: failed_auth_per_minute
write_models: max_write_models
{{- end }}

{{/* The port of a `component` by its `setting`: its own value, that of all processes, or `default`. */}}
{{- define "graphtide.port" -}}
{{- coalesce (dig .component "settings" .setting "" .root.Values.processes) (get .root.Values.settings .setting) .default | int -}}
{{- end }}

{{- define "graphtide.grpcPort" -}}
{{ include "graphtide.port" (dict "root" . "component" "query" "setting" "grpc_port" "default" 50051) }}
{{- end }}

{{/* The entries of `files` that a component mounts. */}}
{{- define "graphtide.files" -}}
{{- $component := .component -}}{{- $mounted := list -}}
{{- range .root.Values.files -}}
{{- if or (not .processes) (has $component .processes) }}{{ $mounted = append $mounted . }}{{ end -}}
{{- end -}}
{{ toYaml $mounted }}
{{- end }}

{{- define "graphtide.fileMounts" -}}
{{- range include "graphtide.files" . | fromYamlArray }}
- { name: {{ printf "files-%s" .name }}, mountPath: {{ printf "/etc/graphtide/files/%s" .name }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "graphtide.fileVolumes" -}}
{{- range include "graphtide.files" . | fromYamlArray }}
- name: files-{{ .name }}
  {{- if .secret }}
  secret: { secretName: {{ .secret | quote }}, defaultMode: 288 }
  {{- else }}
  configMap: { name: {{ .configMap | quote }} }
  {{- end }}
{{- end }}
{{- end }}

{{/* Servers (gateway, query) that would refuse to start, as services/access/bind_policy.py does: no credentials, and reachable from
     other hosts. An existing Secret, whose values the chart cannot see, may hold them. */}}
{{- define "graphtide.unguarded" -}}
{{- $root := . -}}{{- $found := list -}}
{{- $ways := list "api_keys_file" "jwt_key_file" "tls_client_ca_file" "allow_unauthenticated" -}}
{{- range $component := list "gateway" "query" -}}
{{- $settings := include "graphtide.settings" (dict "root" $root "component" $component) | fromYaml -}}
{{- $open := not (or (has $settings.host (list "localhost" "::1")) (hasPrefix "127." $settings.host)) -}}
{{- range $way := $ways -}}
{{- $value := get $settings $way | default (get $root.Values.secret.values $way) | toString -}}
{{- if not (has $value (list "" "false" "<nil>")) }}{{ $open = false }}{{ end -}}
{{- end -}}
{{- if $open }}{{ $found = append $found $component }}{{ end -}}
{{- end -}}
{{ join " and " $found }}
{{- end }}

{{/* The settings of a process, from weakest to strongest: the chart's own, those of all processes, those of this process. */}}
{{- define "graphtide.settings" -}}
{{- $root := .root -}}
{{- $known := dict "host" "0.0.0.0" "metrics_host" "0.0.0.0" "metrics_port" 9464 "data" "/var/lib/graphtide" -}}
{{- $_ := set $known "query_target" (printf "dns:///%s-query:%s" (include "graphtide.name" $root) (include "graphtide.grpcPort" $root)) -}}
{{- if $root.Values.kafka.deploy }}{{ $_ := set $known "kafka" (printf "%s-kafka:9092" (include "graphtide.name" $root)) }}{{ end -}}
{{- if $root.Values.memgraph.deploy }}{{ $_ := set $known "bolt" (printf "bolt://%s-memgraph:7687" (include "graphtide.name" $root)) }}{{ end -}}
{{- if has .component (list "gateway" "query") -}}
{{- if $root.Values.credentials.existingSecret }}{{ $_ := set $known "api_keys_file" (printf "/etc/graphtide/keys/%s" $root.Values.credentials.key) }}{{ end -}}
{{- if or $root.Values.credentials.allowUnauthenticated $root.Values.credentials.insecure }}{{ $_ := set $known "allow_unauthenticated" true }}{{ end -}}
{{- end -}}
{{- if and (eq .component "gateway") $root.Values.tls.existingSecret -}}
{{- $_ := set $known "tls_cert_file" "/etc/graphtide/tls/tls.crt" -}}
{{- $_ := set $known "tls_key_file" "/etc/graphtide/tls/tls.key" -}}
{{- if $root.Values.tls.mutual }}{{ $_ := set $known "tls_client_ca_file" "/etc/graphtide/tls/ca.crt" }}{{ end -}}
{{- end -}}
{{- if and (has .component (list "query" "consolidate")) (get $root.Values.processes .component).checkpointsClaim }}{{ $_ := set $known "checkpoints_url" "/var/lib/graphtide-checkpoints" }}{{ end -}}
{{- $own := dict -}}
{{- if hasKey $root.Values.processes .component }}{{ $own = (get $root.Values.processes .component).settings }}{{ end -}}
{{- $renamed := include "graphtide.renamed" . | fromYaml -}}
{{- range $layer := list $root.Values.settings $own -}}
{{- range $key, $value := $layer -}}
{{- $name := get $renamed $key | default $key -}}
{{- if and (ne $name $key) (hasKey $layer $name) }}{{ fail (printf "%s and %s are the same setting under its old and present name: remove %s" $key $name $key) }}{{ end -}}
{{- if not (eq (toString $value) "") }}{{ $_ := set $known $name $value }}{{ end }}{{ end -}}
{{- end -}}
{{ toYaml $known }}
{{- end }}

{{- define "graphtide.env" -}}
{{- range $key, $value := include "graphtide.settings" . | fromYaml }}
- name: GRAPHTIDE_{{ upper $key }}
  {{- /* toString writes a large number as 2e+06 */}}
  value: {{ if kindIs "float64" $value }}{{ if eq (floor $value) $value }}{{ $value | int64 | quote }}{{ else }}{{ $value | quote }}{{ end }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- end }}

{{/* The permissions of Graphtide's containers: none, and files are written in volumes only. */}}
{{- define "graphtide.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "graphtide.container" -}}
image: {{ include "graphtide.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "graphtide.confined" . | nindent 2 }}
env:
  {{- include "graphtide.env" . | nindent 2 }}
{{- with include "graphtide.secret" .root }}
envFrom:
  - secretRef: { name: {{ . | quote }} }
{{- end }}
volumeMounts:
  - { name: data, mountPath: /var/lib/graphtide }
  - { name: tmp, mountPath: /tmp }
  {{- if and (has .component (list "query" "consolidate")) (get .root.Values.processes .component).checkpointsClaim }}
  - { name: checkpoints, mountPath: /var/lib/graphtide-checkpoints }
  {{- end }}
  {{- if and (has .component (list "gateway" "query")) .root.Values.credentials.existingSecret }}
  - { name: keys, mountPath: /etc/graphtide/keys, readOnly: true }
  {{- end }}
  {{- if and (eq .component "gateway") .root.Values.tls.existingSecret }}
  - { name: tls, mountPath: /etc/graphtide/tls, readOnly: true }
  {{- end }}
  {{- include "graphtide.fileMounts" . | nindent 2 }}
{{- end }}

{{- define "graphtide.place" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The time until a process has ended: preStop (5 s), shutdown_delay_s, shutdown_timeout_s, and 10 s for its files. */}}
{{- define "graphtide.endSeconds" -}}
{{- $settings := include "graphtide.settings" . | fromYaml -}}
{{- $delay := dig "shutdown_delay_s" 0 $settings | float64 -}}
{{- $drain := dig "shutdown_timeout_s" 20 $settings | float64 -}}
{{- addf 15 $delay $drain | ceil | int -}}
{{- end }}

{{/* A pod of a process: `root`, `component`, `process` (its values). */}}
{{- define "graphtide.pod" -}}
metadata:
  labels:
    {{- include "graphtide.labels" . | nindent 4 }}
    graphtide.io/metrics: "true"
  annotations:
    {{- /* a change of the chart's own secret restarts its readers */}}
    graphtide.io/secret: {{ toJson .root.Values.secret.values | sha256sum | trunc 16 | quote }}
spec:
  {{- include "graphtide.place" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ include "graphtide.endSeconds" . }}
  {{- if and .root.Values.spread (gt (int .process.replicas) 1) }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "graphtide.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      args: [worker, {{ .component }}]
      ports:
        - { name: metrics, containerPort: {{ include "graphtide.port" (merge (dict "setting" "metrics_port" "default" 9464) .) }} }
        {{- if eq .component "gateway" }}
        - { name: http, containerPort: {{ include "graphtide.port" (merge (dict "setting" "port" "default" 8080) .) }} }
        {{- else if eq .component "query" }}
        - { name: grpc, containerPort: {{ include "graphtide.grpcPort" .root }} }
        {{- end }}
      {{- if has .component (list "gateway" "query") }}
      lifecycle: # load balancers drop the endpoint before the process stops answering
        preStop: { exec: { command: [python, -c, "import time; time.sleep(5)"] } }
      {{- end }}
      startupProbe: # a replica loads its graphs first
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: metrics }
        periodSeconds: 5
        timeoutSeconds: 5
      resources: {{- toYaml .process.resources | nindent 8 }}
      {{- include "graphtide.container" . | nindent 6 }}
  volumes:
    - { name: tmp, emptyDir: { sizeLimit: 256Mi } }
    - name: data
      emptyDir: { sizeLimit: {{ .process.indexes | default "256Mi" | quote }} }
    {{- if and (has .component (list "query" "consolidate")) .process.checkpointsClaim }}
    - name: checkpoints
      persistentVolumeClaim: { claimName: {{ .process.checkpointsClaim | quote }} }
    {{- end }}
    {{- if and (has .component (list "gateway" "query")) .root.Values.credentials.existingSecret }}
    - name: keys
      secret: { secretName: {{ .root.Values.credentials.existingSecret | quote }}, defaultMode: 288 }
    {{- end }}
    {{- if and (eq .component "gateway") .root.Values.tls.existingSecret }}
    - name: tls
      secret: { secretName: {{ .root.Values.tls.existingSecret | quote }}, defaultMode: 288 }
    {{- end }}
    {{- include "graphtide.fileVolumes" . | nindent 4 }}
{{- end }}

{{/* The servers that a process reaches besides the query replicas and DNS, by its settings: rules of a NetworkPolicy. A server of the
     release is reached by its label; one elsewhere through networkPolicy.egress, or, where that says nothing, anywhere. */}}
{{- define "graphtide.egress" -}}
{{- $root := .root -}}{{- $policy := $root.Values.networkPolicy -}}
{{- $settings := include "graphtide.settings" . | fromYaml -}}
{{- $reached := list -}}
{{- if ne .component "gateway" }}{{ $reached = append $reached "kafka" }}{{ end -}}
{{- if not (has .component (list "gateway" "topics")) -}}
{{- $reached = append $reached "bolt" -}}
{{- if or $settings.llm_base_url $settings.embedding_base_url $settings.rerank_base_url }}{{ $reached = append $reached "models" }}{{ end -}}
{{- end -}}
{{- if and $settings.schema_registry_url (eq .component "extract") }}{{ $reached = append $reached "registry" }}{{ end -}}
{{- if and $settings.otlp_endpoint (ne .component "topics") }}{{ $reached = append $reached "traces" }}{{ end -}}
{{- $checkpoints := $settings.checkpoints_url | default "" -}}
{{- if and (has .component (list "query" "consolidate")) (contains "://" $checkpoints) (not (hasPrefix "file://" $checkpoints)) }}{{ $reached = append $reached "checkpoints" }}{{ end -}}
{{- $inside := dict "kafka" "kafka" "bolt" "memgraph" -}}
{{- $anywhere := list -}}
{{- range $each := $reached -}}
{{- $server := get $inside $each -}}
{{- if and $server (get $root.Values $server).deploy (not (get $root.Values.settings $each)) }}
- to:
    - podSelector:
        matchLabels:
          {{- include "graphtide.selector" (dict "root" $root "component" $server) | nindent 10 }}
{{- else -}}
{{- $peers := concat $policy.egressTo (get $policy.egress $each | default list) -}}
{{- if $peers }}
- to: {{- toYaml $peers | nindent 4 }}
{{- else }}{{ $anywhere = append $anywhere $each }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $anywhere }}
- {} # {{ join ", " $anywhere }}: at any address; networkPolicy.egress narrows it
{{- end -}}
{{- end }}
