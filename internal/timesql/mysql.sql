-- Functions for MySQL and MariaDB. A generated column or an index can't call them, but can
-- contain their expressions.

-- name: create
CREATE FUNCTION snowkey_time(id BIGINT) RETURNS DATETIME{{with .Digits}}({{.}}){{end}}
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    RETURN {{if .Last}}CASE WHEN {{.Time}} <= {{.Last}} THEN {{end -}}
    TIMESTAMP'{{timestamp .Epoch}}' + INTERVAL {{.Time}}{{by "*" .Unit.Microseconds}} MICROSECOND
    {{- if .Last}} END{{end}}
;;
{{range .Others -}}
CREATE FUNCTION snowkey_{{.Name}}(id BIGINT) RETURNS BIGINT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    RETURN {{.}}
;;
{{end -}}
CREATE FUNCTION snowkey_min_id(t DATETIME(6)) RETURNS BIGINT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE message VARCHAR(128) DEFAULT CONCAT('snowkey_min_id: ', t, ' is not from {{timestamp .Epoch}} until {{timestamp .End}}');
    IF t < TIMESTAMP'{{timestamp .Epoch}}'{{if .EndsBefore10000}} OR t >= TIMESTAMP'{{timestamp .End}}'{{end}} THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = message;
    END IF;
    RETURN {{if .Fixed}}({{end}}{{if by "DIV" .Unit.Microseconds}}({{end -}}
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'{{timestamp .Epoch}}', t)
    {{- with by "DIV" .Unit.Microseconds}}{{.}}){{end}} << {{.Time.Shift}}{{if .Fixed}}) | {{.Fixed}}{{end}};
END
;;
CREATE FUNCTION snowkey_max_id(t DATETIME(6)) RETURNS BIGINT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    RETURN snowkey_min_id(t) | {{.Low}}

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
