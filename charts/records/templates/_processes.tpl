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
    {{- $groups := list -}}
    {{- $labels := list "uses-bus" -}}
    {{- $secrets := list -}}
    {{- $channels := list -}}
    {{- range $process.services -}}
      {{- $service := get $table.services . -}}
      {{- if not $service -}}
        {{- fail (printf "processes.%s runs %s; the services are %s" $name . (keys $table.services | sortAlpha | join ", ")) -}}
      {{- end -}}
      {{- $_ := set $running . true -}}
      {{- if $service.group -}}{{- $groups = append $groups $service.group | uniq -}}{{- end -}}
      {{- $labels = concat $labels (default list $service.labels) | uniq -}}
      {{- range $service.secrets -}}
        {{- $secrets = append $secrets (dict "name" .name "secret" (get $.Values.secrets .of) "optional" (eq .optional true)) -}}
      {{- end -}}
      {{- $channels = concat $channels (default list $service.channels) -}}
    {{- end -}}
    {{- $login := "" -}}
    {{- if $groups -}}
      {{- $login = default ($name | replace "-" "") $process.login -}}
      {{- if not (regexMatch "^[a-z][a-z0-9]{0,19}$" $login) -}}
        {{- fail (printf "processes.%s.login must be 1 to 20 letters and digits: it names a database login" $name) -}}
      {{- end -}}
      {{- /* The group's pods still work with its login while this takes their place. */ -}}
      {{- $group := get $table.groups $login -}}
      {{- if and $group (ne (join "," (sortAlpha $process.services)) (join "," $group.services)) -}}
        {{- fail (printf "processes.%s runs other services than the group %s: its database login needs another name (processes.%s.login)" $name $login $name) -}}
      {{- end -}}
      {{- $labels = append $labels "uses-database" -}}
      {{- $of := "mixed" -}}
      {{- if eq (len $groups) 1 -}}{{- $of = first $groups -}}{{- end -}}
      {{- $secrets = prepend $secrets (dict "name" (printf "DATABASE_PASSWORD_%s" (upper $login)) "secret" (get $.Values.secrets $of)) -}}
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

{{/* DATABASE_LOGINS where a process has one that is none of the groups': a login may do what its process needs, and nothing else. */}}
{{- define "records.logins" -}}
{{- $table := .Files.Get "files/services.yaml" | fromYaml -}}
{{- $logins := dict -}}
{{- range $name, $group := $table.groups -}}
  {{- if ne $name "gateway" -}}{{- $_ := set $logins $name $group.services -}}{{- end -}}
{{- end -}}
{{- $groups := len $logins -}}
{{- range include "records.processes" . | fromYaml -}}
  {{- if .login -}}{{- $_ := set $logins .login (without .services "api-gateway") -}}{{- end -}}
{{- end -}}
{{- if gt (len $logins) $groups -}}
  {{- $kinds := list -}}
  {{- range $login, $services := $logins -}}{{- $kinds = append $kinds (printf "%s=%s" $login (join "," $services)) -}}{{- end -}}
  {{- join ";" $kinds -}}
{{- end -}}
{{- end -}}

{{/* The fewest pods that a process may have. */}}
{{- define "records.fewest" -}}
{{- if (.autoscaling).enabled -}}{{ .autoscaling.minReplicas }}
{{- else if (.queueScaling).enabled -}}{{ .queueScaling.minReplicas }}
{{- else -}}{{ .replicas }}
{{- end -}}
{{- end -}}
