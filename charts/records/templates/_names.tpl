{{/* Names, labels and the image. */}}

{{- define "records.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "records.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ default (include "records.fullname" .) .Values.serviceAccount.name }}
{{- else -}}{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* Whatever selects our pods: never changes, as a Deployment's selector cannot. */}}
{{- define "records.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "records.labels" -}}
{{ include "records.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "records.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ printf "%s@%s" .repository .digest }}
{{- else -}}{{ printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The address that clients use: as set, or of the first host that leads here. */}}
{{- define "records.publicUrl" -}}
{{- if .Values.settings.PUBLIC_URL -}}{{ .Values.settings.PUBLIC_URL }}
{{- else if and .Values.ingress.enabled .Values.ingress.host -}}https://{{ .Values.ingress.host }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}https://{{ first .Values.httpRoute.hostnames }}
{{- else -}}{{ required "settings.PUBLIC_URL must be set: links in mails are built from it" .Values.settings.PUBLIC_URL }}
{{- end -}}
{{- end -}}
