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
	for _, dialect := range dbtest.Databases(t) {
		name := map[string]string{"postgres": "features", "mysql": "chinook"}[dialect]
		if name == "" {
			continue
		}
		ends := func(online bool) string {
			s := loadSchema(t, open(t, dialect), name)
			applyAll(t, s.conn, plan(t, s.conn, schemaOptions(online)), autoinc.ApplyOptions{BatchSize: 20})
			return s.whole(t) + s.rows(t)
		}
		require(t, "the schema after --online", ends(true), ends(false))
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
		for _, proof := range verify(t, s.conn, p).Proofs {
			certain := strings.Contains(proof.Subject, "badges") // whose keys are unique, and not primary
			if phases == len(phaseNames) && (proof.Verdict == autoinc.Refuted || proof.Verdict == autoinc.Open && certain) {
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

// whole returns everything that the catalog says about the tables, and where counters of
// SQLite stand.
func (s shop) whole(t *testing.T) string {
	t.Helper()
	queries := map[string]string{
		"postgres": `SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull || a.attidentity::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || coalesce(c.relacl::text, '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema') AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v')
			UNION ALL SELECT inhrelid::regclass || ' is a part of ' || inhparent::regclass FROM pg_inherits
			UNION ALL SELECT conrelid::regclass || ' ' || conname || pg_get_constraintdef(oid) || convalidated FROM pg_constraint c WHERE NOT (contype = 'n' AND coninhcount > 0) AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.oid = c.conparentid AND o.conrelid = c.conrelid) AND connamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT tgname || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
			UNION ALL SELECT relname || pg_get_viewdef(oid) || relowner::regrole || coalesce(reloptions::text, '') FROM pg_class WHERE relkind = 'v' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT indexrelid::regclass || pg_get_indexdef(indexrelid) || indisvalid FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT proname FROM pg_proc WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT sequencename || data_type || ' ' || start_value || ' ' || increment_by || ' ' || min_value || ' ' || max_value FROM pg_sequences
			UNION ALL SELECT relname || ' ' || coalesce(obj_description(c.oid, 'pg_class'), '') || coalesce(x.indisclustered::text, '') || coalesce(c.reloptions::text, '') FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace
			UNION ALL SELECT pg_get_ruledef(oid) FROM pg_rewrite WHERE rulename <> '_RETURN' AND ev_class > 16000
			UNION ALL SELECT matviewname || definition || ispopulated || coalesce(obj_description(matviewname::regclass, 'pg_class'), '') FROM pg_matviews WHERE schemaname = 'public'
			UNION ALL SELECT attrelid::regclass || attname || coalesce(attstattarget::text, '') || coalesce((SELECT string_agg(o, ' ' ORDER BY o) FROM unnest(attoptions) o WHERE o !~ '^pg_'), '') FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid > 16000 AND attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace)
			UNION ALL SELECT stxname || (SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = stxrelid AND attnum = ANY (stxkeys::int2[])) FROM pg_statistic_ext
			UNION ALL SELECT pg_describe_object(classoid, objoid, objsubid) || ' ' || description FROM pg_description WHERE objoid > 16000
			UNION ALL SELECT attrelid::regclass || attname || attacl::text FROM pg_attribute WHERE attacl IS NOT NULL AND NOT attisdropped AND attrelid > 16000
			ORDER BY 1`,
		"sqlite": `SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_master ORDER BY 1`,
		"mysql": `SELECT CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT) FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, REPLACE(VIEW_DEFINITION, DATABASE(), '')) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME) FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TRIGGER_NAME, EVENT_OBJECT_TABLE, REPLACE(ACTION_STATEMENT, DATABASE(), '')) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, INDEX_NAME, COLUMN_NAME, SEQ_IN_INDEX) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
			ORDER BY 1`,
	}
	state := s.lines(t, queries[s.Dialect])
	if strings.Contains(state, "CREATE TABLE sqlite_sequence") {
		state += s.lines(t, "SELECT name || seq FROM sqlite_sequence ORDER BY 1")
	}
	return state
}

// lines returns the rows of a query that selects a text, one a line, without nulls.
func (s shop) lines(t *testing.T, query string) string {
	t.Helper()
	rows := slices.DeleteFunc(dbtest.Rows(t, s.conn, query), func(row string) bool { return row == "NULL" })
	return strings.Join(append(rows, ""), "\n")
}
