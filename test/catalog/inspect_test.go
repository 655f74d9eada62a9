package catalog_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

func TestMain(m *testing.M) { reuse.Main(m) }

func text(t *testing.T, report catalog.Report) string {
	t.Helper()
	var b strings.Builder
	dbtest.NoError(t, report.WriteText(&b))
	return b.String()
}

func requireKinds(t *testing.T, k catalog.Key, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := catalogtest.Kinds(k.Findings); got != strings.Join(want, " ") {
		t.Errorf("%s: findings\n%s\nwant\n%s", k.Column.Table.Name, got, strings.Join(want, " "))
	}
}

// children returns the foreign keys that refer to a key, as table.column and in order.
func children(k catalog.Key) string {
	return inOrder(k.ForeignKeys, func(fk catalog.ForeignKey) string { return fk.Child.Table.Name + "." + fk.Child.Name })
}

func views(k catalog.Key) string {
	return inOrder(k.Views, func(v catalog.Name) string { return v.Name })
}

func inOrder[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func require(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestEmptyDatabase(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		report := catalogtest.Inspect(t, db.Connect(t), catalog.Options{})
		if len(report.Keys) != 0 || len(report.Findings) != 0 || len(report.Schemas) == 0 {
			t.Errorf("got %+v", report)
		}
		if got := text(t, report); strings.Count(got, "\n") != 1 || !strings.Contains(got, "0 auto-increment keys; 0 blockers") {
			t.Errorf("the text is %q", got)
		}
		dialect, version, _ := strings.Cut(db.Version, " ")
		require(t, "dialect", string(report.Dialect), dialect)
		require(t, "version", report.Version, version)
	})
}

func TestErrors(t *testing.T) {
	calls := map[string]func(context.Context, *sql.DB) error{
		"inspect": func(ctx context.Context, conn *sql.DB) error {
			_, err := catalog.Inspect(ctx, conn, catalog.Options{})
			return err
		},
		"compare": func(ctx context.Context, conn *sql.DB) error {
			return catalog.Compare(ctx, conn, []catalog.Field{column("t.id")})
		},
	}
	for what, call := range calls {
		if err := call(t.Context(), nil); err == nil || !strings.HasPrefix(err.Error(), "catalog: there is no database") {
			t.Errorf("%s without a database: %v", what, err)
		}
	}
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		_, err := catalog.Inspect(t.Context(), conn, catalog.Options{Schemas: []string{"Nowhere; --"}})
		if !errors.Is(err, catalog.ErrSchema) || !strings.Contains(err.Error(), `"Nowhere; --"; there are ["`) {
			t.Errorf("of a schema that is not there: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for what, call := range calls {
			if err := call(ended, conn); !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context: %v", what, err)
			}
		}
	})
}

// A single connection is enough, and its settings must be unchanged afterwards.
func TestOneConnection(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		mysql := db.Dialect == "mysql" && !db.MariaDB
		if mysql {
			dbtest.Exec(t, conn, "SET SESSION information_schema_stats_expiry = 123")
		}
		catalogtest.Inspect(t, conn, catalog.Options{})
		catalogtest.Inspect(t, conn, catalog.Options{})
		if mysql {
			require(t, "the session's setting", dbtest.Rows(t, conn, "SELECT @@SESSION.information_schema_stats_expiry")[0], "123")
		}
		if n := conn.Stats().InUse; n != 0 {
			t.Errorf("%d connections are not given back", n)
		}
	})
}

// This is a schema with odd names, which all databases can create. Inspect must find
// the key and its children, which include a self-reference, a composite foreign key and
// a shared one.
func TestOddNames(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		q := catalogtest.Quote(db)
		table, id := `Or"de`+"`r's; DROP", "Önder Ключ"
		counting := map[string]string{
			"postgres": "integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
			"mysql":    "INT AUTO_INCREMENT PRIMARY KEY",
			"sqlite":   "INTEGER PRIMARY KEY AUTOINCREMENT",
		}[db.Dialect]
		integer := map[string]string{"postgres": "integer", "mysql": "INT", "sqlite": "INTEGER"}[db.Dialect]
		dbtest.Exec(t, conn,
			fmt.Sprintf("CREATE TABLE %[1]s (%[2]s %[3]s, %[4]s %[5]s, tenant %[5]s NOT NULL DEFAULT 1, UNIQUE (tenant, %[2]s), FOREIGN KEY (%[4]s) REFERENCES %[1]s (%[2]s))",
				q(table), q(id), counting, q("select"), integer),
			fmt.Sprintf("CREATE TABLE %s (%s %s PRIMARY KEY, FOREIGN KEY (%[2]s) REFERENCES %[4]s (%[5]s))", q("Group"), q("from"), integer, q(table), q(id)),
			fmt.Sprintf("CREATE TABLE %s (%s %s, FOREIGN KEY (%[2]s) REFERENCES %[4]s (%[5]s))", q("a.b"), q("c d"), integer, q("Group"), q("from")),
			fmt.Sprintf("CREATE TABLE order_lines (t %[1]s, o %[1]s, FOREIGN KEY (t, o) REFERENCES %[2]s (tenant, %[3]s))", integer, q(table), q(id)),
			fmt.Sprintf("CREATE TABLE %s (x %s, FOREIGN KEY (x) REFERENCES %s (%s))", q("T\n\x1b[2J"), integer, q(table), q(id)),
			fmt.Sprintf("INSERT INTO %s (tenant) VALUES (1)", q(table)),
			fmt.Sprintf("INSERT INTO %s (tenant) VALUES (1)", q(table)),
		)
		report := catalogtest.Inspect(t, conn, catalog.Options{})
		k := catalogtest.Key(t, report, table)
		require(t, "column", k.Column.Name, id)
		require(t, "children", children(k), "Group.from "+table+".select T\n\x1b[2J.x a.b.c d order_lines.o")
		require(t, "next", k.Counter.Next, "3")
		require(t, "the primary key", strings.Join(k.PrimaryKey, " "), id)
		composite := k.ForeignKeys[slices.IndexFunc(k.ForeignKeys, func(fk catalog.ForeignKey) bool { return fk.Child.Table.Name == "order_lines" })]
		require(t, "columns", strings.Join(composite.Columns, " "), "t o")
		got := text(t, report)
		if strings.Contains(got, "\x1b") || !strings.Contains(got, `\n\x1b[2J`) {
			t.Errorf("the text holds control characters: %q", got)
		}
		if !strings.Contains(got, q(table)+"."+q(id)) {
			t.Errorf("the text does not quote the names: %s", got)
		}
	})
}

// Reading JSON back must result in exactly the report that was written.
func TestJSON(t *testing.T) {
	t.Parallel()
	db := dbtest.SQLite(t)
	conn := db.Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO t VALUES (9007199254740993)")
	report := catalogtest.Inspect(t, conn, catalog.Options{})
	data := dbtest.Must(json.Marshal(report))(t)
	for _, part := range []string{`"next":"9007199254740994"`, `"mechanism":"autoincrement"`, `"severity":"blocker"`, `"kind":"jumped"`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s is missing in %s", part, data)
		}
	}
	var back catalog.Report
	dbtest.NoError(t, json.Unmarshal(data, &back))
	require(t, "text of what was read back", text(t, back), text(t, report))
}
