{{/* Which Deployments there are, and what each of them needs, as YAML: by name. From files/services.yaml and `processes`. */}}
{{- define "records.processes" -}}
{{- $table := .Files.Get "files/services.yaml" | fromYaml -}}
{{- $presets := $table.groups -}}
{{- if eq .Values.layout "services" -}}
  {{- $presets = dict -}}
  {{- range $name, $service := $table.services -}}
    {{- $_ := set $presets $name (dict "services" (list $name) "description" $service.description) -}}
  {{- end -}}
{{- end -}}
{{- $running := dict -}}
{{- $processes := dict -}}
{{- range $name, $process := mergeOverwrite (deepCopy $presets) (deepCopy .Values.processes) -}}
  {{- if ne $process.enabled false -}}
    {{- if not $process.services -}}
      {{- fail (printf "processes.%s is none of this layout's (%s): name its services, or leave it out" $name (keys $presets | sortAlpha | join ", ")) -}}
    {{- end -}}
    {{- $logins := list -}}
    {{- $labels := list "uses-bus" -}}
    {{- $secrets := list -}}
    {{- $channels := list -}}
    {{- range $process.services -}}
      {{- $service := get $table.services . -}}
      {{- if not $service -}}
        {{- fail (printf "processes.%s runs %s; the services are %s" $name . (keys $table.services | sortAlpha | join ", ")) -}}
      {{- end -}}
      {{- $_ := set $running . true -}}
      {{- if $service.login -}}{{- $logins = append $logins $service.login | uniq -}}{{- end -}}
      {{- $labels = concat $labels (default list $service.labels) | uniq -}}
      {{- $secrets = concat $secrets (default list $service.secrets) -}}
      {{- $channels = concat $channels (default list $service.channels) -}}
    {{- end -}}
    {{- $login := first (append $logins "") -}}
    {{- if gt (len $logins) 1 -}}{{- $login = "login" -}}{{- end -}}
    {{- if $login -}}
      {{- $labels = append $labels "uses-database" -}}
      {{- $secrets = prepend $secrets (dict "name" (printf "DATABASE_PASSWORD_%s" (upper $login)) "of" $login) -}}
    {{- end -}}
    {{- $facts := dict "login" $login "labels" (sortAlpha $labels) "secrets" $secrets "channels" $channels -}}
    {{- $_ := set $processes $name (merge $facts $process (dict "replicas" $.Values.replicas "resources" $.Values.resources)) -}}
  {{- end -}}
{{- end -}}
{{- range $name, $_ := $table.services -}}
  {{- if not (hasKey $running $name) -}}{{- fail (printf "the service %s runs in no Deployment: each must run in at least one" $name) -}}{{- end -}}
{{- end -}}
{{- toYaml $processes -}}
{{- end -}}

{{/* The fewest pods that a process may have. */}}
{{- define "records.fewest" -}}
{{- if (.autoscaling).enabled -}}{{ .autoscaling.minReplicas }}
{{- else if (.queueScaling).enabled -}}{{ .queueScaling.minReplicas }}
{{- else -}}{{ .replicas }}
{{- end -}}
{{- end -}}
