-- Functions that can be used in indexes, generated columns and bounds of partitions. All but
-- min_id are SQL expressions that the server inlines. They are bound to what they call when
-- they're created, so the search path doesn't matter.

-- name: create
CREATE FUNCTION snowkey_time(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {{if .Last}}CASE WHEN {{.Time}} <= {{.Last}} THEN {{end -}}
    (timestamp '{{timestamp .Epoch}}' + {{if .MultipliesExactly -}}
        {{.Time}} * interval '{{.Interval}}'
    {{- else -}}
        ({{.Time}}{{by "*" .Unit.Microseconds}} / 1000000) * interval '1 second' + ({{.Time}}{{by "*" .Unit.Microseconds}} % 1000000) * interval '1 microsecond'
    {{- end}}) AT TIME ZONE 'UTC'
    {{- if .Last}} END{{end}}
;;
{{range .Others -}}
CREATE FUNCTION snowkey_{{.Name}}(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {{.}}
;;
{{end -}}
CREATE FUNCTION snowkey_min_id(t timestamptz) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF t < timestamptz '{{timestamp .Epoch}}+00' OR t >= timestamptz '{{timestamp .End}}+00' THEN
        RAISE EXCEPTION 'snowkey_min_id: % is outside the layout, which has ids from {{timestamp .Epoch}} until {{timestamp .End}}', t
            USING ERRCODE = 'datetime_field_overflow';
    END IF;
    RETURN {{if .Fixed}}({{end -}}
    ((extract(epoch FROM t - timestamptz '{{timestamp .Epoch}}+00') * 1000000)::bigint{{by "/" .Unit.Microseconds}}) << {{.Time.Shift}}
    {{- if .Fixed}}) | {{.Fixed}}{{end}};
END
$$
;;
CREATE FUNCTION snowkey_max_id(t timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN snowkey_min_id(t) | {{.Low}}

-- name: drop
DROP FUNCTION snowkey_time(bigint)
;;
{{range .Others -}}
DROP FUNCTION snowkey_{{.Name}}(bigint)
;;
{{end -}}
DROP FUNCTION snowkey_max_id(timestamptz)
;;
DROP FUNCTION snowkey_min_id(timestamptz)
