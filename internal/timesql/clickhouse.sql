-- Functions that ClickHouse replaces with their expressions. Their arguments can be of any type
-- for integers and times.
{{define "field"}}toInt64(bitAnd(bitShiftRight(toInt64(id), {{.Shift}}), {{.Max}})){{end}}

{{- /* A microsecond is enough, since no tick is shorter. */ -}}
{{define "micros"}}toUnixTimestamp64Micro(toDateTime64(t, 6, 'UTC')){{end}}

-- name: create
CREATE FUNCTION snowkey_time AS (id) -> {{if .Last}}if({{template "field" .Time}} <= {{.Last}}, {{end -}}
    {{if le .Digits 3 -}}
        fromUnixTimestamp64Milli({{.Epoch.UnixMilli}} + {{template "field" .Time}}{{by "*" .Unit.Milliseconds}}, 'UTC')
    {{- else -}}
        fromUnixTimestamp64Micro({{.Epoch.UnixMicro}} + {{template "field" .Time}}{{by "*" .Unit.Microseconds}}, 'UTC')
    {{- end}}{{if .Last}}, NULL){{end}}
;;
{{range .Others -}}
CREATE FUNCTION snowkey_{{.Name}} AS (id) -> {{template "field" .}}
;;
{{end -}}
{{/* The cast fails with the text. With throwIf, which ClickHouse doesn't compute in advance, a
condition would not use the key of a table. */ -}}
CREATE FUNCTION snowkey_min_id AS (t) -> bitOr(bitShiftLeft(intDiv({{template "micros"}} - {{.Epoch.UnixMicro}}, {{.Unit.Microseconds}}), {{.Time.Shift}}), {{.Fixed}}) + {{/*
*/}}toInt64(if({{template "micros"}} < {{.Epoch.UnixMicro}} OR {{template "micros"}} >= {{.End.UnixMicro}}, {{/*
*/}}'snowkey_min_id: the time is outside the layout, which has ids from {{timestamp .Epoch}} until {{timestamp .End}}', '0'))
;;
CREATE FUNCTION snowkey_max_id AS (t) -> bitOr(snowkey_min_id(t), {{.Low}})

-- name: drop
DROP FUNCTION snowkey_time
;;
{{range .Others -}}
DROP FUNCTION snowkey_{{.Name}}
;;
{{end -}}
DROP FUNCTION snowkey_max_id
;;
DROP FUNCTION snowkey_min_id
