package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// differences returns the error as what Compare returns, and otherwise ends the test.
func differences(t *testing.T, err error) *catalog.MismatchError {
	t.Helper()
	e, ok := errors.AsType[*catalog.MismatchError](err)
	if !ok {
		t.Fatalf("got %v, want a *MismatchError", err)
	}
	return e
}

// A field must find its column under all names that the server considers equal, no
// matter what characters they contain, but not under any other name.
func TestCompareNames(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		q := func(name string) string {
			mark := quotes[db.Dialect]
			return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
		}
		table, column := `Or"de`+"`r's; DROP", "Önder Ключ"
		exec(t, conn, fmt.Sprintf("CREATE TABLE %s (%s bigint NOT NULL PRIMARY KEY, %s smallint)", q(table), q(column), q("select")))
		field := catalog.Field{Model: "shop.Order.ID", Table: catalog.Name{Name: table}, Column: column}
		if err := catalog.Compare(t.Context(), conn, []catalog.Field{field}); err != nil {
			t.Errorf("of a column that fits: %v", err)
		}

		folded := field
		folded.Column = "SELECT"
		wants := map[string]string{"postgres": "blocker:missing-column", "mysql": "blocker:narrow-key", "sqlite": ""}
		err := catalog.Compare(t.Context(), conn, []catalog.Field{folded})
		if want := wants[db.Dialect]; want == "" && err != nil || want != "" && kinds(differences(t, err).Findings) != want {
			t.Errorf("of the column in upper case: %v, want %q", err, wants[db.Dialect])
		}

		for _, wrong := range []catalog.Name{{Name: table + "'"}, {Name: "%"}, {Schema: "no'where", Name: table}, {}} {
			field.Table = wrong
			e := differences(t, catalog.Compare(t.Context(), conn, []catalog.Field{field, field}))
			if kinds(e.Findings) != "blocker:missing-table" || len(e.Findings) != 1 || !strings.Contains(e.Error(), q(wrong.Name)) {
				t.Errorf("of the table %q: %v", wrong, e)
			}
		}
	})
}

// If a table isn't qualified, it must be the same one that a query would find.
func TestCompareSearchPath(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		conn := reuse.Open(t, "postgres").Connect(t)
		conn.SetMaxOpenConns(1)
		exec(t, conn, `CREATE SCHEMA first`, `CREATE SCHEMA second`,
			`CREATE TABLE first.t (id integer PRIMARY KEY)`, `CREATE TABLE second.t (id bigint PRIMARY KEY)`)
		for path, narrow := range map[string]bool{"first, second": true, "second, first": false, "nowhere, second": false} {
			exec(t, conn, "SET search_path = "+path)
			err := catalog.Compare(t.Context(), conn, []catalog.Field{{Model: "t", Table: catalog.Name{Name: "t"}, Column: "id"}})
			if narrow && kinds(differences(t, err).Findings) != "blocker:narrow-key" || !narrow && err != nil {
				t.Errorf("with %s: %v", path, err)
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		conn := dbtest.SQLite(t).Connect(t)
		conn.SetMaxOpenConns(1)
		exec(t, conn, "ATTACH '"+filepath.Join(t.TempDir(), "other.db")+"' AS other",
			`CREATE TABLE other.t (id INTEGER PRIMARY KEY)`, `CREATE TABLE main.T (id BIGINT NOT NULL PRIMARY KEY)`, `CREATE TABLE other.u (id INTEGER PRIMARY KEY)`)
		for _, tc := range []struct {
			table  catalog.Name
			counts bool
		}{
			{catalog.Name{Name: "t"}, false},
			{catalog.Name{Name: "U"}, true},
			{catalog.Name{Schema: "OTHER", Name: "T"}, true},
		} {
			err := catalog.Compare(t.Context(), conn, []catalog.Field{{Model: "t", Table: tc.table, Column: "ID"}})
			if tc.counts && kinds(differences(t, err).Findings) != "blocker:still-counts" || !tc.counts && err != nil {
				t.Errorf("of %v: %v", tc.table, err)
			}
		}
	})
}

// A model can be based on a view. The columns of a view have types, but none of them
// count.
func TestCompareView(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		exec(t, conn, "CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, narrow smallint)", "CREATE VIEW v AS SELECT id, narrow FROM t")
		field := catalog.Field{Model: "v.ID", Table: catalog.Name{Name: "v"}, Column: "id"}
		if err := catalog.Compare(t.Context(), conn, []catalog.Field{field}); err != nil {
			t.Errorf("of a view that fits: %v", err)
		}
		field.Column, field.Foreign = "narrow", true
		if db.Dialect == "sqlite" {
			return
		}
		if e := differences(t, catalog.Compare(t.Context(), conn, []catalog.Field{field})); kinds(e.Findings) != "blocker:narrow-child" {
			t.Errorf("got %v", e)
		}
	})
}

// Partitions count along with their table, and so do tables that inherit.
func TestComparePartition(t *testing.T) {
	t.Parallel()
	conn := reuse.Open(t, "postgres").Connect(t)
	exec(t, conn, `CREATE TABLE parent (id bigserial, PRIMARY KEY (id)) PARTITION BY RANGE (id)`,
		`CREATE TABLE part PARTITION OF parent FOR VALUES FROM (0) TO (1000)`,
		`CREATE DOMAIN small AS integer`, `CREATE TABLE of_domain (id small PRIMARY KEY)`)
	for table, want := range map[string]string{"parent": "warning:still-counts", "part": "warning:still-counts", "of_domain": "blocker:narrow-key"} {
		e := differences(t, catalog.Compare(t.Context(), conn, []catalog.Field{{Model: "m", Table: catalog.Name{Name: table}, Column: "id"}}))
		if kinds(e.Findings) != want {
			t.Errorf("%s: %v", table, e)
		}
	}
}

// A column that holds a key must hold the longest one, also if it references the key and
// no model has it.
func TestCompareSizes(t *testing.T) {
	conn := reuse.Open(t, "postgres").Connect(t)
	exec(t, conn, `CREATE TABLE parent (id bigint PRIMARY KEY, exact varchar(20), short varchar(19))`,
		`CREATE TABLE child (parent_id integer REFERENCES parent)`, `CREATE INDEX ON child (parent_id)`)
	field := catalog.Field{Model: "Parent.ID", Table: catalog.Name{Name: "parent"}, Column: "id"}
	if e := differences(t, catalog.Compare(t.Context(), conn, []catalog.Field{field})); kinds(e.Findings) != "blocker:narrow-child" {
		t.Errorf("of a key that an integer references: %v", e)
	}
	field.Text, field.Size, field.Foreign, field.Column = true, 20, true, "exact"
	if err := catalog.Compare(t.Context(), conn, []catalog.Field{field}); err != nil {
		t.Errorf("of a text of 20 characters: %v", err)
	}
	field.Column = "short"
	if e := differences(t, catalog.Compare(t.Context(), conn, []catalog.Field{field})); kinds(e.Findings) != "blocker:narrow-child" {
		t.Errorf("of a text of 19 characters: %v", e)
	}
}

func TestCompareSigns(t *testing.T) {
	conn := dbtest.MySQL(t).Connect(t)
	exec(t, conn, "CREATE TABLE t (plus bigint unsigned NOT NULL PRIMARY KEY, minus bigint)")
	for column, unsigned := range map[string]bool{"plus": true, "minus": false} {
		field := catalog.Field{Model: "T." + column, Table: catalog.Name{Name: "t"}, Column: column, Unsigned: unsigned}
		if err := catalog.Compare(t.Context(), conn, []catalog.Field{field}); err != nil {
			t.Errorf("%s: %v", column, err)
		}
		field.Unsigned = !unsigned
		if e := differences(t, catalog.Compare(t.Context(), conn, []catalog.Field{field})); kinds(e.Findings) != "warning:sign-mismatch" {
			t.Errorf("%s: %v", column, e)
		}
	}
}

// If an account has no privileges beyond what it needs for its work, there must be no
// findings about what it can't see.
func TestCompareAsApplication(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	conn := db.Connect(t)
	var database string
	if err := conn.QueryRow("SELECT DATABASE()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	account := "a" + strings.ReplaceAll(database, "_", "")
	account = account[:min(len(account), 30)]
	exec(t, conn, "CREATE TABLE t (id BIGINT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)",
		fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'x'", account),
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON `%s`.* TO '%s'@'%%'", database, account))
	t.Cleanup(func() { _, _ = conn.Exec(fmt.Sprintf("DROP USER '%s'@'%%'", account)) })
	app := as(t, db, account)
	field := catalog.Field{Model: "shop.T.ID", Table: catalog.Name{Name: "t"}, Column: "id"}
	if err := catalog.Compare(t.Context(), app, []catalog.Field{field}); err != nil {
		t.Error(err)
	}
	field.Table.Name = "u"
	if e := differences(t, catalog.Compare(t.Context(), app, []catalog.Field{field})); kinds(e.Findings) != "blocker:narrow-key" {
		t.Error(e)
	}
}

// A program may start while other tables are being altered or their sequences dropped.
func TestCompareBesideChanges(t *testing.T) {
	t.Parallel()
	db := reuse.Open(t, "postgres")
	conn := db.Connect(t)
	exec(t, conn, "CREATE TABLE t (id bigint PRIMARY KEY)")
	other := db.Connect(t)
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, statement := range []string{"CREATE TABLE u (id bigserial PRIMARY KEY, at bigint GENERATED ALWAYS AS IDENTITY)", "DROP TABLE u"} {
				if _, err := other.Exec(statement); err != nil {
					t.Errorf("%s: %v", statement, err)
					return
				}
			}
		}
	})
	for range 50 {
		if err := catalog.Compare(t.Context(), conn, []catalog.Field{{Model: "t.ID", Table: catalog.Name{Name: "t"}, Column: "id"}}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	running.Wait()
}

func TestCompareErrors(t *testing.T) {
	fields := []catalog.Field{{Model: "shop.T.\x1b[2JID", Table: catalog.Name{Name: "t"}, Column: "id"}}
	if err := catalog.Compare(t.Context(), nil, fields); err == nil || !strings.HasPrefix(err.Error(), "catalog: there is no database") {
		t.Errorf("of no database: %v", err)
	}
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		if err := catalog.Compare(t.Context(), conn, nil); err != nil {
			t.Errorf("of no fields: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := catalog.Compare(ended, conn, fields); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
		counting := map[string]string{"postgres": "bigserial", "mysql": "BIGINT AUTO_INCREMENT", "sqlite": "INTEGER"}[db.Dialect]
		exec(t, conn, "CREATE TABLE t (id "+counting+" PRIMARY KEY)")
		missing := fields[0]
		missing.Table.Name = "u"
		e := differences(t, catalog.Compare(t.Context(), conn, append(fields, missing)))
		if got := e.Error(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 4 || !strings.Contains(got, ", 2 findings:") {
			t.Errorf("the error is %q", got)
		}
		if e.Severity() != catalog.Blocker || e.Findings[0].Severity != catalog.Blocker {
			t.Errorf("the gravest is not first: %v", e)
		}
		// On Postgres, a counter and a generator don't interfere with each other.
		worst := map[string]catalog.Severity{"postgres": catalog.Warning, "mysql": catalog.Blocker, "sqlite": catalog.Blocker}[db.Dialect]
		if e = differences(t, catalog.Compare(t.Context(), conn, fields)); e.Severity() != worst {
			t.Errorf("a counter is a %s, want a %s", e.Severity(), worst)
		}
		if n := conn.Stats().InUse; n != 0 {
			t.Errorf("%d connections are not given back", n)
		}
	})
}
