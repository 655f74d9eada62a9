package catalog_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// A comparison is of one column.
type comparison struct {
	only   string // the dialect; empty for all
	before string // is executed first
	field  catalog.Field
	want   string // the kinds of the findings
}

// column returns a field for a column that the table below describes as schema.table.column.
func column(name string) catalog.Field {
	parts := strings.Split(name, ".")
	f := catalog.Field{Model: "shop." + name, Table: catalog.Name{Name: parts[len(parts)-2]}, Column: parts[len(parts)-1]}
	if len(parts) == 3 {
		f.Table.Schema = parts[0]
	}
	return f
}

func foreign(f catalog.Field) catalog.Field { f.Foreign = true; return f }

func unsigned(f catalog.Field) catalog.Field { f.Unsigned = true; return f }

func text20(f catalog.Field) catalog.Field { f.Text, f.Size = true, 20; return foreign(f) }

const oddTable, oddColumn = `Or"de` + "`r's; DROP", "Önder Ключ"

var comparisons = []comparison{
	// A field finds its column under all names that the server considers equal, no matter
	// what characters they contain, but not under any other name.
	{field: column(oddTable + "." + oddColumn)},
	{only: "postgres", field: column(oddTable + ".SELECT"), want: "blocker:missing-column"},
	{only: "mysql", field: column(oddTable + ".SELECT"), want: "blocker:narrow-key"},
	{only: "sqlite", field: column(oddTable + ".SELECT")},
	{field: column(oddTable + "'.id"), want: "blocker:missing-table"},
	{field: column("%.id"), want: "blocker:missing-table"},
	{field: column("no'where." + oddTable + "." + oddColumn), want: "blocker:missing-table"},
	{field: column(".id"), want: "blocker:missing-table"},

	// The columns of a view have types, but none of them count.
	{field: column("v.id")},
	{only: "postgres", field: foreign(column("v.narrow")), want: "blocker:narrow-child"},
	{only: "mysql", field: foreign(column("v.narrow")), want: "blocker:narrow-child"},

	// If a table isn't qualified, it is the same one that a query would find.
	{only: "postgres", before: "SET search_path = first, second", field: column("t.id"), want: "blocker:narrow-key"},
	{only: "postgres", before: "SET search_path = second, first", field: column("t.id")},
	{only: "postgres", before: "SET search_path = nowhere, second", field: column("t.id")},
	{only: "sqlite", field: column("t.ID")},
	{only: "sqlite", field: column("U.id"), want: "blocker:still-counts"},
	{only: "sqlite", field: column("OTHER.T.ID"), want: "blocker:still-counts"},

	// Partitions count along with their table.
	{only: "postgres", before: "RESET search_path", field: column("whole.id"), want: "warning:still-counts"},
	{only: "postgres", field: column("part.id"), want: "warning:still-counts"},
	{only: "postgres", field: column("of_domain.id"), want: "blocker:narrow-key"},

	// A column holds the longest key, also if it references the key and no model has it.
	{only: "postgres", field: column("parent.id"), want: "blocker:narrow-child"},
	{only: "postgres", field: text20(column("parent.exact"))},
	{only: "postgres", field: text20(column("parent.short")), want: "blocker:narrow-child"},

	{only: "mysql", field: unsigned(column("signs.plus"))},
	{only: "mysql", field: column("signs.plus"), want: "warning:sign-mismatch"},
	{only: "mysql", field: column("signs.minus")},
	{only: "mysql", field: unsigned(column("signs.minus")), want: "warning:sign-mismatch"},
}

func TestCompare(t *testing.T) {
	setup := map[string][]string{
		"postgres": {
			"CREATE SCHEMA first", "CREATE SCHEMA second", "CREATE TABLE first.t (id integer PRIMARY KEY)", "CREATE TABLE second.t (id bigint PRIMARY KEY)",
			"CREATE TABLE whole (id bigserial, PRIMARY KEY (id)) PARTITION BY RANGE (id)", "CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (1000)",
			"CREATE DOMAIN small AS integer", "CREATE TABLE of_domain (id small PRIMARY KEY)",
			"CREATE TABLE parent (id bigint PRIMARY KEY, exact varchar(20), short varchar(19))", "CREATE TABLE child (parent_id integer REFERENCES parent)", "CREATE INDEX ON child (parent_id)",
		},
		"mysql":  {"CREATE TABLE signs (plus bigint unsigned NOT NULL PRIMARY KEY, minus bigint)"},
		"sqlite": {"ATTACH ':memory:' AS other", "CREATE TABLE other.t (id INTEGER PRIMARY KEY)", "CREATE TABLE main.T (id BIGINT NOT NULL PRIMARY KEY)", "CREATE TABLE other.u (id INTEGER PRIMARY KEY)"},
	}
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		q := catalogtest.Quote(db)
		dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE %s (%s bigint NOT NULL PRIMARY KEY, %s smallint)", q(oddTable), q(oddColumn), q("select")),
			"CREATE TABLE narrow (id bigint NOT NULL PRIMARY KEY, narrow smallint)", "CREATE VIEW v AS SELECT id, narrow FROM narrow")
		dbtest.Exec(t, conn, setup[db.Dialect]...)
		for _, tt := range comparisons {
			if tt.only != "" && tt.only != db.Dialect {
				continue
			}
			if tt.before != "" {
				dbtest.Exec(t, conn, tt.before)
			}
			err := catalog.Compare(t.Context(), conn, []catalog.Field{tt.field, tt.field})
			if tt.want == "" {
				if err != nil {
					t.Errorf("%+v: %v", tt, err)
				}
				continue
			}
			e := catalogtest.Differences(t, err)
			missing := strings.Contains(tt.want, "missing-table") && (len(e.Findings) != 1 || !strings.Contains(e.Error(), q(tt.field.Table.Name)))
			if catalogtest.Kinds(e.Findings) != tt.want || missing {
				t.Errorf("%+v: %v", tt, e)
			}
		}
	})
}

// A program may start while other tables are being altered or their sequences dropped.
func TestCompareBesideChanges(t *testing.T) {
	t.Parallel()
	db := reuse.Open(t, "postgres")
	conn := db.Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE t (id bigint PRIMARY KEY)")
	other := db.Connect(t)
	var stop atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		for !stop.Load() {
			for _, statement := range []string{"CREATE TABLE u (id bigserial PRIMARY KEY, at bigint GENERATED ALWAYS AS IDENTITY)", "DROP TABLE u"} {
				if _, err := other.Exec(statement); err != nil {
					t.Errorf("%s: %v", statement, err)
					return
				}
			}
		}
	})
	for range 50 {
		dbtest.NoError(t, catalog.Compare(t.Context(), conn, []catalog.Field{{Model: "t.ID", Table: catalog.Name{Name: "t"}, Column: "id"}}))
	}
	stop.Store(true)
	running.Wait()
}

func TestCompareErrors(t *testing.T) {
	fields := []catalog.Field{{Model: "shop.T.\x1b[2JID", Table: catalog.Name{Name: "t"}, Column: "id"}}
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		dbtest.NoError(t, catalog.Compare(t.Context(), conn, nil))
		counting := map[string]string{"postgres": "bigserial", "mysql": "BIGINT AUTO_INCREMENT", "sqlite": "INTEGER"}[db.Dialect]
		dbtest.Exec(t, conn, "CREATE TABLE t (id "+counting+" PRIMARY KEY)")
		missing := fields[0]
		missing.Table.Name = "u"
		e := catalogtest.Differences(t, catalog.Compare(t.Context(), conn, append(fields, missing)))
		if got := e.Error(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 4 || !strings.Contains(got, ", 2 findings:") {
			t.Errorf("the error is %q", got)
		}
		if e.Severity() != catalog.Blocker || e.Findings[0].Severity != catalog.Blocker {
			t.Errorf("the gravest is not first: %v", e)
		}
		// On Postgres, a counter and a generator don't interfere with each other.
		worst := map[string]catalog.Severity{"postgres": catalog.Warning, "mysql": catalog.Blocker, "sqlite": catalog.Blocker}[db.Dialect]
		if e = catalogtest.Differences(t, catalog.Compare(t.Context(), conn, fields)); e.Severity() != worst {
			t.Errorf("a counter is a %s, want a %s", e.Severity(), worst)
		}
		if n := conn.Stats().InUse; n != 0 {
			t.Errorf("%d connections are not given back", n)
		}
	})
}
