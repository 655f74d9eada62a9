package autoinc_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// We take schemas, with a few rows in their tables, all the way and back again. At the end,
// both the catalog and the rows must be the same as at the start. At night these are also
// the schemas of other projects, and those of the folder SCHEMAS if there is one, which are
// reversed after each phase.
func TestSchemas(t *testing.T) {
	t.Parallel()
	patterns, first := []string{"testdata/schemas/features.*.sql"}, len(phaseNames)
	if dbtest.Nightly {
		patterns, first = []string{"testdata/schemas/*.*.sql"}, 1
		if folder := os.Getenv("SCHEMAS"); folder != "" {
			patterns = append(patterns, filepath.Join(folder, "*.*.sql"))
		}
	}
	for _, files := range patterns {
		eachSchema(t, files, func(t *testing.T, s shop, options autoinc.PlanOptions) { thereAndBack(t, s, options, first) })
	}
}

// thereAndBack reverses the plan after so many phases, after one more, and so on.
func thereAndBack(t *testing.T, s shop, options autoinc.PlanOptions, phases int) {
	p, before, rows := plan(t, s.conn, options), s.whole(t), s.rows(t)
	for ; phases <= len(phaseNames); phases++ {
		for range phases {
			if _, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		require(t, "the rows", s.rows(t), rows)
		if v := verify(t, s.conn, p); phases == len(phaseNames) && v.Err() != nil {
			t.Errorf("not proven:\n%s", verdicts(t, v))
		}
		if err := autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		require(t, "the catalog after undo", s.whole(t), before)
		require(t, "the rows after undo", s.rows(t), rows)
	}
}

// whole returns the state, including all the parts of tables that we know of.
func (s shop) whole(t *testing.T) string {
	if s.Dialect == "postgres" {
		return s.parts(t)
	}
	return s.before(t)
}

// eachSchema calls test for each file NAME.DIALECT.sql, both offline and with --online.
func eachSchema(t *testing.T, pattern string, test func(t *testing.T, s shop, options autoinc.PlanOptions)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas %s: %v", pattern, err)
	}
	for _, file := range files {
		name, dialect, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sql"), ".")
		if !slices.Contains(dbtest.Databases(t), dialect) {
			continue
		}
		for _, online := range []bool{false, true} {
			if online && dialect == "sqlite" {
				continue // SQLite only has one way
			}
			of := fmt.Sprintf("%s %s online=%t", name, dialect, online)
			t.Run(of, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, dialect)
				s := shop{DB: db, conn: db.Connect(t)}
				s.load(t, file)
				tables, filled := s.fill(t)
				if 2*filled < tables {
					t.Errorf("rows in %d of %d tables only", filled, tables)
				}
				t.Logf("rows in %d of %d tables", filled, tables)
				options := autoinc.PlanOptions{Online: online, Composite: true, Options: catalog.Options{LikelyChildren: true}}
				test(t, s, options)
			})
		}
	}
}

// load runs the statements of a file in the same way as the database's client would.
func (s shop) load(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.conn.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The file changes settings of the session, so we can't reuse the connection.
	defer func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		conn.Close()
	}()
	failed := 0
	for _, statement := range statements(s.Dialect, string(data)) {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			failed++
			if strings.HasPrefix(file, "testdata") {
				t.Errorf("%v: %.300s", err, statement)
			}
		}
	}
	if failed > 0 {
		t.Logf("%d statements failed, such as those for extensions that this server does not have", failed)
	}
}

// statements splits the text at each line that ends with the delimiter, except inside
// of a body in dollar quotes, or between BEGIN and END of a trigger.
func statements(dialect, text string) (all []string) {
	delimiter, tag := ";", ""
	var b strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if other, ok := strings.CutPrefix(trimmed, "DELIMITER "); ok {
			delimiter = strings.TrimSpace(other)
			continue
		}
		if b.Len() == 0 && (trimmed == "" || strings.HasPrefix(trimmed, "--") || strings.HasPrefix(trimmed, `\`)) {
			continue
		}
		b.WriteString(line)
		for rest := line; dialect == "postgres"; {
			if tag == "" {
				i := strings.IndexByte(rest, '$')
				if i < 0 {
					break
				}
				j := strings.IndexByte(rest[i+1:], '$')
				if j < 0 {
					break
				}
				tag, rest = rest[i:i+j+2], rest[i+j+2:]
			}
			_, after, found := strings.Cut(rest, tag)
			if !found {
				break
			}
			tag, rest = "", after
		}
		whole := strings.TrimSpace(b.String())
		upper := strings.ToUpper(whole)
		inTrigger := delimiter == ";" && strings.HasPrefix(upper, "CREATE TRIGGER") && strings.Contains(upper, "BEGIN") && !strings.HasSuffix(strings.TrimRight(upper, "; \n"), "END")
		if tag == "" && !inTrigger && strings.HasSuffix(whole, delimiter) {
			all = append(all, strings.TrimSuffix(whole, delimiter))
			b.Reset()
		}
	}
	if rest := strings.TrimSpace(b.String()); rest != "" {
		all = append(all, rest)
	}
	return all
}

// fillable selects the columns of all tables. Unless a column takes a default, it also
// returns SQL for the column's value in a row, in which %[1]d stands for the number of
// the row. All columns of a row use the same number, so that rows reference each other.
var fillable = map[string]string{
	"postgres": `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(a.attname), CASE
		WHEN a.attgenerated <> '' THEN ''
		WHEN y.typname = 'tsvector' THEN '''v'''
		WHEN y.typname = 'year' THEN '200%[1]d'
		WHEN y.typcategory = 'N' THEN '%[1]d'
		WHEN y.typcategory = 'B' THEN 'true'
		WHEN y.typcategory = 'D' THEN '''2022-03-01''::timestamptz + interval ''%[1]d day'''
		WHEN y.typcategory = 'E' THEN '(enum_range(NULL::' || format_type(a.atttypid, NULL) || '))[1]'
		WHEN y.typcategory = 'S' THEN '''%[1]d'''
		ELSE '' END
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
	JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type y ON y.oid = a.atttypid
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1, a.attnum`,
	"mysql": "SELECT CONCAT('`', REPLACE(TABLE_NAME, '`', '``'), '`'), CONCAT('`', REPLACE(COLUMN_NAME, '`', '``'), '`')" + `, CASE
		WHEN EXTRA LIKE '%GENERATED' AND EXTRA NOT LIKE '%DEFAULT_GENERATED%' THEN ''
		WHEN DATA_TYPE LIKE '%int' OR DATA_TYPE IN ('decimal', 'float', 'double', 'year') THEN '%[1]d'
		WHEN DATA_TYPE IN ('date', 'datetime', 'timestamp') THEN '''2020-01-0%[1]d'''
		WHEN DATA_TYPE = 'geometry' THEN 'ST_GeomFromText(''POINT(1 %[1]d)'')'
		WHEN DATA_TYPE IN ('enum', 'set') THEN '1'
		ELSE '''%[1]d''' END
	FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME)
	WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME, ORDINAL_POSITION`,
	"sqlite": `SELECT '"' || replace(t.name, '"', '""') || '"', '"' || replace(x.name, '"', '""') || '"', CASE
		WHEN x.hidden <> 0 THEN ''
		WHEN upper(x.type) LIKE '%INT%' OR upper(x.type) LIKE '%NUM%' OR upper(x.type) LIKE '%DEC%' THEN '%[1]d'
		WHEN upper(x.type) LIKE '%DATE%' OR upper(x.type) LIKE '%TIME%' THEN '''2020-01-0%[1]d'''
		ELSE '''v%[1]d''' END
	FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name) AS x WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, x.cid`,
}

// columns returns the columns of each table, and the SQL for their values.
func (s shop) columns(t *testing.T) (tables []string, columns, values map[string][]string) {
	t.Helper()
	rows, err := s.conn.Query(fillable[s.Dialect])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, values = make(map[string][]string), make(map[string][]string)
	for rows.Next() {
		var table, column, value string
		if err := rows.Scan(&table, &column, &value); err != nil {
			t.Fatal(err)
		}
		if columns[table] == nil {
			tables = append(tables, table)
		}
		columns[table], values[table] = append(columns[table], column), append(values[table], value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return tables, columns, values
}

// deleteOrphans deletes rows that refer to a table that didn't accept any rows.
const deleteOrphans = `DO $$
DECLARE k record; n bigint; deleted bigint;
BEGIN
	LOOP
		deleted := 0;
		FOR k IN SELECT conrelid::regclass AS child, confrelid::regclass AS parent, conkey, confkey, conrelid, confrelid FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 LOOP
			EXECUTE (SELECT format('DELETE FROM %s c WHERE %s AND NOT EXISTS (SELECT FROM %s p WHERE %s)', k.child,
				string_agg(format('c.%I IS NOT NULL', a.attname), ' AND '), k.parent, string_agg(format('p.%I = c.%I', b.attname, a.attname), ' AND '))
			FROM unnest(k.conkey, k.confkey) AS u (child, parent)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.child JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.parent);
			GET DIAGNOSTICS n = ROW_COUNT;
			deleted := deleted + n;
		END LOOP;
		EXIT WHEN deleted = 0;
	END LOOP;
END $$`

// fill inserts two rows into each table, and returns how many tables there are and how
// many of them accepted a row. We can't expect all of them to, because there's always a
// CHECK that generated rows don't satisfy.
func (s shop) fill(t *testing.T) (tables, filled int) {
	t.Helper()
	names, columns, values := s.columns(t)
	conn, err := s.conn.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(sql string) error {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), sql)
		return err
	}
	set := map[string][2]string{
		"postgres": {"SET session_replication_role = replica", "RESET session_replication_role"},
		"mysql":    {"SET SESSION foreign_key_checks = 0", "SET SESSION foreign_key_checks = 1"},
		"sqlite":   {"PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys = ON"},
	}[s.Dialect]
	if err := run(set[0]); err != nil {
		t.Fatal(err)
	}
	for _, table := range names {
		var into, row []string
		for i, value := range values[table] {
			if value != "" {
				into, row = append(into, columns[table][i]), append(row, value)
			}
		}
		overriding := ""
		if s.Dialect == "postgres" {
			overriding = " OVERRIDING SYSTEM VALUE"
		}
		insert := "INSERT INTO " + table + " (" + strings.Join(into, ", ") + ")" + overriding + " VALUES (" + strings.Join(row, ", ") + ")"
		if err := run(strings.ReplaceAll(insert, "%[1]d", "1")); err != nil {
			t.Logf("%s: %v", table, err)
			continue
		}
		_ = run(strings.ReplaceAll(insert, "%[1]d", "2")) // some tables only accept one row
		filled++
	}
	if s.Dialect == "postgres" && filled < len(names) {
		if err := run(deleteOrphans); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(set[1]); err != nil {
		t.Fatal(err)
	}
	return len(names), filled
}

// rows returns all rows of all tables, except for Apply's own table.
func (s shop) rows(t *testing.T) string {
	t.Helper()
	tables, columns, _ := s.columns(t)
	var lines []string
	for _, table := range tables {
		if strings.Contains(table, "snowkey_migration") {
			continue
		}
		names := slices.Sorted(slices.Values(columns[table]))
		// The comment makes the statement differ from one that was prepared for other
		// types.
		rows, err := s.conn.Query("SELECT " + strings.Join(names, ", ") + " FROM " + table + fmt.Sprintf(" -- %d", time.Now().UnixNano()))
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			fields := make([]sql.NullString, len(names))
			dest := make([]any, len(names))
			for i := range fields {
				dest[i] = &fields[i]
			}
			if err := rows.Scan(dest...); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprint(table, fields))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
