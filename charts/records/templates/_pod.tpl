{{/* What all pods have alike. */}}

{{- define "records.podSecurity" -}}
runAsNonRoot: true
{{- range $key, $value := .Values.podSecurity }}
{{- if not (kindIs "invalid" $value) }}
{{ $key }}: {{ int64 $value }}
{{- end }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "records.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* A process takes REQUEST_TIMEOUT_MS to finish what is under way, and some more to close. */}}
{{- define "records.graceSeconds" -}}
{{- $timeout := default 10000 .Values.settings.REQUEST_TIMEOUT_MS | int | max 10000 -}}
{{- add .Values.drain.preStopSeconds (div (add $timeout 999) 1000) .Values.drain.spareSeconds -}}
{{- end -}}

{{/* Where the authorities of one's own are mounted; the settings name these files. */}}
{{- define "records.authorityFile" -}}/run/authorities/{{ .of }}/{{ default "ca.crt" .key }}{{- end -}}

{{- define "records.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- range $of, $authority := .Values.authorities }}
{{- if or $authority.configMap $authority.secret }}
- { name: {{ $of }}-authority, mountPath: /run/authorities/{{ $of }}, readOnly: true }
{{- end }}
{{- end }}
{{- if eq .Values.bus.auth "certificate" }}
- { name: bus-certificate, mountPath: /run/certificates/bus, readOnly: true }
{{- end }}
{{- end -}}

{{- define "records.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 128Mi }
{{- range $of, $authority := .Values.authorities }}
{{- if $authority.configMap }}
- name: {{ $of }}-authority
  configMap: { name: {{ $authority.configMap }} }
{{- else if $authority.secret }}
- name: {{ $of }}-authority
  secret:
    secretName: {{ $authority.secret }}
    # The certificate alone: a Secret that cert-manager or CloudNativePG makes may hold keys beside it.
    items: [{ key: {{ default "ca.crt" $authority.key }}, path: {{ default "ca.crt" $authority.key }} }]
{{- end }}
{{- end }}
{{- if eq .Values.bus.auth "certificate" }}
- name: bus-certificate
  secret:
    secretName: {{ required "bus.certificateSecret must name a Secret, with bus.auth: certificate" .Values.bus.certificateSecret }}
    # Read by the group that fsGroup names.
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/* How a process reaches and seals the bus. */}}
{{- define "records.busEnvironment" -}}
{{- $secret := .Values.secrets.bus -}}
{{- $keys := list "NATS_URL" "BUS_SECRET" -}}
{{- $more := dict "token" "NATS_TOKEN" "nkey" "NATS_NKEY_SEED" "creds" "NATS_CREDS" -}}
{{- range append $keys (default "" (get $more .Values.bus.auth)) | compact }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }} } }
{{- end }}
{{- end -}}

{{- define "records.storeEnvironment" -}}
{{- $map := printf "%s-store" (include "records.fullname" .) -}}
{{- range list "S3_ENDPOINT" "S3_BUCKET" "S3_REGION" }}
- name: {{ . }}
  valueFrom: { configMapKeyRef: { name: {{ $map }}, key: {{ . }} } }
{{- end }}
{{- range list "S3_RETENTION_DAYS" "S3_RETENTION_MODE" "S3_PREFIX" "S3_CA_FILE" }}
- name: {{ . }}
  valueFrom: { configMapKeyRef: { name: {{ $map }}, key: {{ . }}, optional: true } }
{{- end }}
{{- end -}}
