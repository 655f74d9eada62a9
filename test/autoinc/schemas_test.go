package autoinc_test

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// We take schemas, with two rows in each of their tables, all the way and back again. At the end,
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
			dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}))(t)
		}
		require(t, "the rows", s.rows(t), rows)
		if v := verify(t, s.conn, p); phases == len(phaseNames) && v.Err() != nil {
			t.Errorf("not proven:\n%s", verdicts(t, v))
		}
		dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
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
			if online && dialect != "postgres" || !dbtest.Nightly && online != (dialect == "postgres") {
				continue // the others only have one way
			}
			of := fmt.Sprintf("%s %s online=%t", name, dialect, online)
			t.Run(of, func(t *testing.T) {
				t.Parallel()
				db := open(t, dialect)
				s := shop{DB: db, conn: db.Connect(t)}
				s.load(t, file)
				if rows := filepath.Join(filepath.Dir(file), "rows", filepath.Base(file)); strings.HasPrefix(file, "testdata") {
					s.load(t, rows)
				}
				options := autoinc.PlanOptions{Online: online, Composite: true, Options: catalog.Options{LikelyChildren: true}}
				test(t, s, options)
			})
		}
	}
}

// load runs the statements of a file in the same way as the database's client would.
func (s shop) load(t *testing.T, file string) {
	t.Helper()
	data := dbtest.Must(os.ReadFile(file))(t)
	conn := dbtest.Must(s.conn.Conn(t.Context()))(t)
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

// tableNames selects the tables as they are written in SQL.
var tableNames = map[string]string{
	"postgres": `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
	"mysql":  "SELECT CONCAT('`', REPLACE(TABLE_NAME, '`', '``'), '`') FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'",
	"sqlite": `SELECT '"' || replace(name, '"', '""') || '"' FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'`,
}

// rows returns all rows of all tables, except for Apply's own table.
func (s shop) rows(t *testing.T) string {
	t.Helper()
	var lines []string
	for table := range strings.SplitSeq(s.lines(t, tableNames[s.Dialect]), "\n") {
		if table == "" || strings.Contains(table, "snowkey_migration") {
			continue
		}
		// On Postgres, the order of the columns may change.
		what := map[string]string{"postgres": "to_jsonb(r)::text"}[s.Dialect]
		rows := dbtest.Must(s.conn.Query("SELECT " + cmp.Or(what, "*") + " FROM " + table + " r"))(t)
		columns := dbtest.Must(rows.Columns())(t)
		for rows.Next() {
			fields := make([]sql.NullString, len(columns))
			dest := make([]any, len(columns))
			for i := range fields {
				dest[i] = &fields[i]
			}
			dbtest.NoError(t, rows.Scan(dest...))
			lines = append(lines, fmt.Sprint(table, fields))
		}
		dbtest.NoError(t, rows.Err())
		rows.Close()
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
