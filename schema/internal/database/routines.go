package database

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Routine is a function, procedure or trigger in the database that uses integers of
// fewer than 64 bits, be it as a parameter, a variable, a cast or a result. If one of
// them holds a key, the routine fails once it gets a generated key, or stores another
// number.
type Routine struct {
	Kind string // such as function
	Name string // as written by the server, with the parameters

	text, lower  string // lower is in lower case
	schema, name string // on MySQL and MariaDB
	table        string // for a trigger
}

const (
	postgresRoutines = `SELECT CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, p.oid::regprocedure::text, pg_get_functiondef(p.oid), '', '', ''
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_language l ON l.oid = p.prolang AND l.lanname NOT IN ('c', 'internal')
WHERE p.prokind IN ('f', 'p') AND p.proname NOT LIKE 'snowkey%' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
ORDER BY 2`

	// The parameter at position 0 is the result of a function.
	mysqlRoutines = `SELECT LOWER(r.ROUTINE_TYPE), CONCAT(r.ROUTINE_SCHEMA, '.', r.ROUTINE_NAME), CONCAT(COALESCE(r.ROUTINE_DEFINITION, ''), ' ', COALESCE((
	SELECT GROUP_CONCAT(p.DTD_IDENTIFIER SEPARATOR ' ') FROM information_schema.PARAMETERS p
	WHERE p.SPECIFIC_SCHEMA = r.ROUTINE_SCHEMA AND p.SPECIFIC_NAME = r.SPECIFIC_NAME AND p.ORDINAL_POSITION > 0), '')), r.ROUTINE_SCHEMA, r.ROUTINE_NAME, ''
FROM information_schema.ROUTINES r WHERE r.ROUTINE_SCHEMA NOT IN ` + MySQLSystem + `
UNION ALL SELECT 'trigger', CONCAT(TRIGGER_SCHEMA, '.', TRIGGER_NAME), CONCAT(EVENT_OBJECT_TABLE, ' ', ACTION_STATEMENT), TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_OBJECT_TABLE
FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ` + MySQLSystem + ` AND TRIGGER_NAME NOT LIKE 'snowkey%'
ORDER BY 1, 2`
)

// A cast to SIGNED INTEGER has 64 bits in MySQL, and TINYINT(1) is how MySQL writes
// BOOLEAN. Both come first in this expression, so that they won't match as narrow
// types.
const narrowType = `\b(?:UN)?SIGNED\s+INT(?:EGER)?\b|\bTINYINT\(1\)|\b(int2|int4|int|integer|tinyint|smallint|mediumint|smallserial|serial)\b`

var (
	narrow = regexp.MustCompile(`(?i)` + narrowType)

	// These also match strings, quoted names and comments, so that widen leaves them
	// alone.
	code      = regexp.MustCompile(`(?is)'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|` + narrowType)
	mysqlCode = regexp.MustCompile("(?is)" + `'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|--\s[^\n]*|#[^\n]*|/\*.*?\*/|` + "`[^`]*`|" + narrowType)
)

func isNarrow(text string) bool {
	return slices.ContainsFunc(narrow.FindAllStringSubmatch(text, -1), func(match []string) bool { return match[1] != "" })
}

// widen replaces narrower integer types with bigint.
func widen(sql string, code *regexp.Regexp) string {
	var b strings.Builder
	done := 0
	for _, at := range code.FindAllStringSubmatchIndex(sql, -1) {
		if from, to := at[2], at[3]; from >= 0 && !strings.HasSuffix(strings.ToLower(sql[from:to]), "serial") {
			b.WriteString(sql[done:from] + "bigint")
			done = to
		}
	}
	return b.String() + sql[done:]
}

// NarrowRoutines returns the routines that use integers of fewer than 64 bits, as far
// as the account may see them. There are none on SQLite.
func NarrowRoutines(ctx context.Context, conn *sql.Conn, s Server) ([]Routine, error) {
	query := postgresRoutines
	switch {
	case s.Dialect == SQLite:
		return nil, nil
	case s.IsMySQL():
		query = mysqlRoutines
	}
	all, err := List(ctx, conn, query, func(r *Routine) []any { return []any{&r.Kind, &r.Name, &r.text, &r.schema, &r.name, &r.table} })
	var found []Routine
	for _, r := range all {
		if isNarrow(r.text) {
			r.lower = strings.ToLower(r.text)
			found = append(found, r)
		}
	}
	return found, err
}

// Mentions reports whether the routine contains the name of the table as a whole word.
// A routine in another database of MySQL must contain the name of the schema too.
func (r Routine) Mentions(schema, table string) bool {
	return r.contains(table) && (r.schema == "" || strings.EqualFold(r.schema, schema) || r.contains(schema))
}

func (r Routine) contains(name string) bool { return contains(r.lower, strings.ToLower(name)) }

// Contains reports whether SQL contains a name as a whole word.
func Contains(text, name string) bool {
	return contains(strings.ToLower(text), strings.ToLower(name))
}

func contains(text, word string) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' || r == '$' }
	for from := 0; word != ""; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = at + len(word)
	}
	return false
}

func (r Routine) String() string { return fmt.Sprintf("the %s %s", r.Kind, r.Name) }

// This query returns the statements that restore what DROP FUNCTION loses: the owner,
// the privileges and the comment. Its first column has the types of the parameters and
// of the result.
const postgresRestore = `SELECT pg_get_function_arguments(p.oid) || ' ' || COALESCE(pg_get_function_result(p.oid), ''), concat_ws(E'\n',
	format('ALTER %1$s %2$s OWNER TO %3$I;', k.kind, k.name, pg_get_userbyid(p.proowner)),
	CASE WHEN p.proacl IS NOT NULL THEN format('REVOKE ALL ON %1$s %2$s FROM PUBLIC;', k.kind, k.name) END,
	(SELECT string_agg(format('GRANT EXECUTE ON %1$s %2$s TO %3$s%4$s;', k.kind, k.name,
		CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
		CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END), E'\n') FROM aclexplode(p.proacl) a WHERE a.grantee <> p.proowner),
	format('COMMENT ON %1$s %2$s IS %3$L;', k.kind, k.name, obj_description(p.oid, 'pg_proc')))
FROM pg_proc p, LATERAL (SELECT CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::regprocedure::text) k (kind, name)
WHERE p.oid = $1::regprocedure`

// Widened returns statements that recreate the routine with bigint in place of every
// narrower integer type outside of strings. They're meant to be reviewed by a person
// first, since not every integer holds a key.
func (r Routine) Widened(ctx context.Context, conn *sql.Conn, s Server) (string, error) {
	if s.IsMySQL() {
		return r.widenedMySQL(ctx, conn, s)
	}
	type restore struct{ types, after string }
	found, err := One(ctx, conn, postgresRestore, func(f *restore) []any { return []any{&f.types, &f.after} }, r.Name)
	if err != nil {
		return "", err
	}
	create := strings.TrimSpace(widen(r.text, code)) + ";\n"
	if widen(found.types, code) != found.types { // with other types, CREATE OR REPLACE would make a second function
		create = fmt.Sprintf("DROP %s %s;\n%s%s\n", strings.ToUpper(r.Kind), r.Name, create, widen(found.after, code))
	}
	// The body may call a function that is only recreated later.
	return "BEGIN;\nSET LOCAL check_function_bodies = off;\n" + create + "COMMIT;\n", nil
}

func (r Routine) widenedMySQL(ctx context.Context, conn *sql.Conn, s Server) (string, error) {
	kind := strings.ToUpper(r.Kind)
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("SHOW CREATE %s %s", kind, s.Path(r.schema, r.name)))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	// The first five columns are the name, the mode, the statement, and the character
	// set and collation of the connection that created the routine. Some servers add
	// more columns after these.
	values := make([]sql.NullString, max(len(columns), 5))
	dest := make([]any, len(columns))
	for i := range dest {
		dest[i] = &values[i]
	}
	if !rows.Next() {
		return "", fmt.Errorf("%s is gone: %w", r, rows.Err())
	}
	if err := rows.Scan(dest...); err != nil {
		return "", err
	}
	if !values[2].Valid {
		return "", fmt.Errorf("the account may not read the definition of %s", r)
	}
	create := widen(values[2].String, mysqlCode)
	before, after := "", ""
	switch {
	case s.Dialect == MariaDB:
		create = "CREATE OR REPLACE" + strings.TrimPrefix(create, "CREATE")
	case r.table != "":
		before = fmt.Sprintf("LOCK TABLES %s WRITE;;\nDROP TRIGGER %s;;\n", s.Quote(r.table), s.Quote(r.name))
		after = "UNLOCK TABLES;;\n"
	default:
		before = fmt.Sprintf("DROP %s %s;;\n", kind, s.Quote(r.name))
	}
	return fmt.Sprintf("USE %s;\nSET @mode = @@sql_mode, @collation = @@collation_connection, sql_mode = %s, collation_connection = %s;\nDELIMITER ;;\n%s%s;;\n%sDELIMITER ;\nSET sql_mode = @mode, collation_connection = @collation;\n",
		s.Quote(r.schema), s.Literal(values[1].String), s.Literal(values[4].String), before, create, after), rows.Err()
}
