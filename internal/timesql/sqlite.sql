-- Two queries, whose expressions can also be used in a view, a generated column or an index.

-- name: create
SELECT {{if .Last}}CASE WHEN {{.Time}} <= {{.Last}} THEN {{end -}}
    strftime('%Y-%m-%d %H:%M:%f', ({{.Epoch.UnixMilli}} + {{.Time}}{{by "*" .Unit.Milliseconds}}) / 1000.0, 'unixepoch')
    {{- if .Last}} END{{end}} AS time
{{- range .Others}},
       {{.}} AS {{.Name}}
{{- end}}
FROM (SELECT :id AS id)
;;
{{/* An expression can't raise an error of its own, so a time outside the layout makes an
integer overflow. julianday is exact to 0.1 ms, and counts from a noon: 1970 begins at
2440587.5. */ -}}
SELECT min_id, min_id | {{.Low}} AS max_id
FROM (SELECT CASE WHEN since {{if .EndsBefore10000}}BETWEEN 0 AND {{.LastMilli}}{{else}}>= 0{{end}} THEN {{if .Fixed}}({{end -}}
    {{with by "/" .Unit.Milliseconds}}(since{{.}}){{else}}since{{end}} << {{.Time.Shift}}
    {{- if .Fixed}}) | {{.Fixed}}{{end}} WHEN since IS NOT NULL THEN abs(-9223372036854775807 - 1) END AS min_id
      FROM (SELECT CAST(round((julianday(:time) - 2440587.5) * 86400000) AS INTEGER) - {{.Epoch.UnixMilli}} AS since))
