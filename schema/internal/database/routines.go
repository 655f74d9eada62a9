package database

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
)

// A Routine is a function, a procedure or a trigger of the database that uses integers of
// fewer than 64 bits, as a parameter, a variable, a cast or a result. If such an integer
// holds a key, the routine fails with a generated key, or stores another number.
type Routine struct {
	Kind string // such as function
	Name string // as the server writes it, with its parameters
	text string
}

const (
	postgresRoutines = `SELECT CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, p.oid::regprocedure::text, pg_get_functiondef(p.oid)
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_language l ON l.oid = p.prolang AND l.lanname NOT IN ('c', 'internal')
WHERE p.prokind IN ('f', 'p') AND p.proname NOT LIKE 'snowkey%' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
ORDER BY 2`

	// A parameter of the position 0 is what a function returns.
	mysqlRoutines = `SELECT LOWER(r.ROUTINE_TYPE), CONCAT(r.ROUTINE_SCHEMA, '.', r.ROUTINE_NAME), CONCAT(COALESCE(r.ROUTINE_DEFINITION, ''), ' ', COALESCE((
	SELECT GROUP_CONCAT(p.DTD_IDENTIFIER SEPARATOR ' ') FROM information_schema.PARAMETERS p
	WHERE p.SPECIFIC_SCHEMA = r.ROUTINE_SCHEMA AND p.SPECIFIC_NAME = r.SPECIFIC_NAME AND p.ORDINAL_POSITION > 0), ''))
FROM information_schema.ROUTINES r WHERE r.ROUTINE_SCHEMA NOT IN ` + MySQLSystem + `
UNION ALL SELECT 'trigger', CONCAT(TRIGGER_SCHEMA, '.', TRIGGER_NAME), CONCAT(EVENT_OBJECT_TABLE, ' ', ACTION_STATEMENT)
FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ` + MySQLSystem + ` AND TRIGGER_NAME NOT LIKE 'snowkey%'
ORDER BY 1, 2`
)

var narrowType = regexp.MustCompile(`(?i)\b(int2?|int4|integer|tinyint|smallint|mediumint|(small)?serial|(UN)?SIGNED INT(EGER)?)\b`)

// NarrowRoutines returns the routines that use integers of fewer than 64 bits. The server shows only those that the account may see. SQLite has none.
func NarrowRoutines(ctx context.Context, conn *sql.Conn, s Server) ([]Routine, error) {
	query := postgresRoutines
	switch {
	case s.Dialect == SQLite:
		return nil, nil
	case s.IsMySQL():
		query = mysqlRoutines
	}
	all, err := List(ctx, conn, query, func(r *Routine) []any { return []any{&r.Kind, &r.Name, &r.text} })
	var narrow []Routine
	for _, r := range all {
		if narrowType.MatchString(r.text) {
			narrow = append(narrow, r)
		}
	}
	return narrow, err
}

// Mentions reports whether the routine has the name of the table in it, as a word.
func (r Routine) Mentions(table string) bool {
	return regexp.MustCompile(`(?i)(^|[^\pL\pN_$])` + regexp.QuoteMeta(table) + `($|[^\pL\pN_$])`).MatchString(r.text)
}

func (r Routine) String() string { return fmt.Sprintf("the %s %s", r.Kind, r.Name) }
