package autoinc_test

import (
	"cmp"
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
// the schemas of other projects, and all are reversed after each phase.
func TestSchemas(t *testing.T) {
	t.Parallel()
	pattern, first := "testdata/schemas/features.*.sql", len(phaseNames)
	if dbtest.Nightly {
		pattern, first = "testdata/schemas/*.*.sql", 1
	}
	files := dbtest.Must(filepath.Glob(pattern))(t)
	if len(files) == 0 {
		t.Fatalf("no schemas %s", pattern)
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
			t.Run(fmt.Sprintf("%s %s online=%t", name, dialect, online), func(t *testing.T) {
				t.Parallel()
				thereAndBack(t, loadSchema(t, open(t, dialect), name), schemaOptions(online), first)
			})
		}
	}
}

// loadSchema creates the tables of testdata/schemas/NAME.DIALECT.sql, with rows.
func loadSchema(t *testing.T, db dbtest.DB, name string) shop {
	t.Helper()
	s := shop{DB: db, conn: db.Connect(t)}
	for _, folder := range []string{"testdata/schemas", "testdata/schemas/rows"} {
		s.load(t, filepath.Join(folder, name+"."+db.Dialect+".sql"))
	}
	return s
}

func schemaOptions(online bool) autoinc.PlanOptions {
	return autoinc.PlanOptions{Online: online, Composite: true, Options: catalog.Options{LikelyChildren: true}}
}

// With --online, everything must end up just as it would without it, except for the order of
// the columns.
func TestOnlineEndsAsOffline(t *testing.T) {
	t.Parallel()
	ends := func(online bool) (after string) {
		s := loadSchema(t, open(t, "postgres"), "features")
		applyAll(t, s.conn, plan(t, s.conn, schemaOptions(online)), autoinc.ApplyOptions{BatchSize: 20})
		return s.whole(t)
	}
	require(t, "the schema after --online", ends(true), ends(false))
}

// thereAndBack reverses the plan after so many phases, after one more, and so on.
func thereAndBack(t *testing.T, s shop, options autoinc.PlanOptions, phases int) {
	p, before, rows := plan(t, s.conn, options), s.whole(t), s.rows(t)
	for ; phases <= len(phaseNames); phases++ {
		for range phases {
			dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}))(t)
		}
		require(t, "the rows", s.rows(t), rows)
		for _, proof := range verify(t, s.conn, p).Proofs {
			of := strings.Contains(proof.Text, "uses integers of fewer than 64 bits") // functions remain open
			if phases == len(phaseNames) && proof.Verdict != autoinc.Proven && !of {
				t.Errorf("not proven: %+v", proof)
			}
		}
		dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
		require(t, "the catalog after undo", s.whole(t), before)
		require(t, "the rows after undo", s.rows(t), rows)
	}
}

// load runs the statements of a file. Its settings end with the connection.
func (s shop) load(t *testing.T, file string) {
	t.Helper()
	db := s.DB
	switch db.Dialect {
	case "postgres":
		db = simple(db)
	case "mysql":
		db = db.With("multiStatements=true")
	}
	conn := db.Connect(t)
	defer conn.Close()
	if _, err := conn.Exec(string(dbtest.Must(os.ReadFile(file))(t))); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
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
		for _, row := range dbtest.Rows(t, s.conn, "SELECT "+cmp.Or(what, "*")+" FROM "+table+" r") {
			lines = append(lines, table+" "+row)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
