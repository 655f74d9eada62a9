package catalog_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

func TestSQLiteKeys(t *testing.T) {
	t.Parallel()
	conn := dbtest.SQLite(t).Connect(t)
	dbtest.Exec(t, conn,
		`CREATE TABLE counting (id INTEGER PRIMARY KEY AUTOINCREMENT)`, `INSERT INTO counting VALUES (41)`, `DELETE FROM counting`,
		`CREATE TABLE rowid_alias (id Integer PRIMARY KEY /* AUTOINCREMENT */, "AUTOINCREMENT" TEXT DEFAULT 'AUTOINCREMENT')`,
		`INSERT INTO rowid_alias (id) VALUES (41)`, `DELETE FROM rowid_alias`, `INSERT INTO rowid_alias (id) VALUES (6)`,
		`CREATE TABLE constraint_of_table (a TEXT, id INTEGER, PRIMARY KEY (id))`,
		`CREATE TABLE jumped (id INTEGER PRIMARY KEY)`, `INSERT INTO jumped VALUES (9007199254740993)`,
		`CREATE TABLE without_rowid (id INTEGER PRIMARY KEY) WITHOUT ROWID`,
		`CREATE TABLE descending (id INTEGER PRIMARY KEY DESC)`,
		`CREATE TABLE other_type (id BIGINT PRIMARY KEY)`,
		`CREATE TABLE int_type (id INT PRIMARY KEY)`,
		`CREATE TABLE composite (a INTEGER, b INTEGER, PRIMARY KEY (a, b))`,
		`CREATE TABLE none (a INTEGER)`,
		`CREATE VIRTUAL TABLE docs USING fts5(body)`,
	)
	report := catalogtest.Inspect(t, conn, catalog.Options{})
	for _, want := range []struct {
		table     string
		mechanism catalog.Mechanism
		next      string
		findings  string
	}{
		{"counting", catalog.Autoincrement, "42", "blocker:still-counts"},
		{"rowid_alias", catalog.Rowid, "7", "blocker:still-counts"},
		{"constraint_of_table", catalog.Rowid, "1", "blocker:still-counts"},
		{"jumped", catalog.Rowid, "9007199254740994", "blocker:still-counts warning:jumped"},
	} {
		k := catalogtest.Key(t, report, want.table)
		require(t, want.table, string(k.Mechanism)+" "+k.Counter.Next, string(want.mechanism)+" "+want.next)
		requireKinds(t, k, strings.Fields(want.findings)...)
	}
	if len(report.Keys) != 4 {
		t.Errorf("there are 4 keys: %s", text(t, report))
	}
}

func TestSQLiteUses(t *testing.T) {
	t.Parallel()
	conn := dbtest.SQLite(t).Connect(t)
	dbtest.Exec(t, conn,
		`CREATE TABLE users (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES Users, name TEXT)`,
		`CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id BIGINT REFERENCES users (ID))`, `CREATE INDEX by_user ON posts (USER_ID)`,
		`CREATE TABLE notes (user_id VARCHAR(20) REFERENCES users)`, `CREATE INDEX partial ON notes (user_id) WHERE user_id > 7`,
		`CREATE TABLE scores (user_id REAL PRIMARY KEY REFERENCES users)`,
		`CREATE TABLE lost (user_id INTEGER REFERENCES nobody)`,
		`CREATE TRIGGER stamp AFTER INSERT ON users BEGIN SELECT 1; END`,
	)
	k := catalogtest.Key(t, catalogtest.Inspect(t, conn, catalog.Options{}), "users")
	require(t, "children", children(k), "notes.user_id posts.user_id scores.user_id users.boss")
	requireKinds(t, k, "blocker:narrow-child", "blocker:still-counts", "warning:text-child")
}

func TestSQLiteAttached(t *testing.T) {
	t.Parallel()
	conn := dbtest.SQLite(t).Connect(t)
	conn.SetMaxOpenConns(1) // databases are attached to a single connection
	dbtest.Exec(t, conn, "ATTACH '"+filepath.Join(t.TempDir(), "more.db")+"' AS `O\"ther`",
		"CREATE TABLE `O\"ther`.t (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO `O\"ther`.t VALUES (7)",
		"CREATE TABLE t (id INTEGER PRIMARY KEY)",
		"CREATE TEMP TABLE passing (id INTEGER PRIMARY KEY)")
	report := catalogtest.Inspect(t, conn, catalog.Options{})
	if len(report.Keys) != 2 {
		t.Errorf("there are 2 keys: %s", text(t, report))
	}
	report = catalogtest.Inspect(t, conn, catalog.Options{Schemas: []string{`O"ther`}})
	if len(report.Keys) != 1 || report.Keys[0].Counter.Next != "8" {
		t.Errorf("of the attached: %s", text(t, report))
	}
}
