package migrations_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// command is the path of the command snowkey.
var command string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "snowkey")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		command = filepath.Join(dir, "snowkey")
		build := exec.Command("go", "build", "-o", command, "github.com/snowkey-go/snowkey/cmd/snowkey")
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
		return m.Run()
	}())
}

// A tool runs migrations.
type tool interface {
	up() error   // the next file
	down() error // reverses the last file

	// resume goes on after a failure, in a new process of the tool.
	resume(conn *sql.DB) tool
}

var tools = map[string]func(t *testing.T, db dbtest.DB, conn *sql.DB, dir string) tool{
	"goose": newGoose, "golang-migrate": newGolangMigrate, "atlas": newAtlas,
}

// shop creates two tables with rows.
func shop(t *testing.T, db dbtest.DB) *sql.DB {
	t.Helper()
	conn := db.Connect(t)
	key := map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT"}[db.Dialect]
	statements := []string{
		"CREATE TABLE users (id " + key + ", name varchar(20) NOT NULL DEFAULT 'it''s')",
		"CREATE TABLE orders (id " + key + ", user_id int NOT NULL, total int NOT NULL DEFAULT 0, CONSTRAINT by_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE)",
		"CREATE INDEX orders_user ON orders (user_id, total)",
		"CREATE VIEW customers AS SELECT id, name FROM users",
		"INSERT INTO users (name) VALUES ('a'), ('b'), ('c')",
		"INSERT INTO orders (user_id, total) VALUES (1, 5), (3, 7), (3, 9)",
	}
	if db.Dialect == "postgres" {
		statements = append(statements, "CREATE TABLE audit (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)", "INSERT INTO audit DEFAULT VALUES")
	}
	dbtest.Exec(t, conn, statements...)
	return conn
}

// state is what the catalog says, without the order of columns, and the rows.
func state(t *testing.T, db dbtest.DB, conn *sql.DB) string {
	t.Helper()
	report := dbtest.Must(catalog.Inspect(t.Context(), conn, catalog.Options{}))(t)
	var b strings.Builder
	for _, k := range report.Keys {
		if slices.Contains(shopTables, k.Column.Table.Name) { // the tools have tables that count, too
			fmt.Fprintln(&b, k.Column, k.Mechanism, k.Counter.Next)
		}
	}
	queries := []string{"SELECT COUNT(*) FROM customers", "SELECT SUM(o.total * u.id) FROM orders o JOIN users u ON u.id = o.user_id"}
	switch db.Dialect {
	case "postgres":
		queries = append(queries, "SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0 AND conname !~ 'goose|schema_migrations|not_null' ORDER BY 1",
			"SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1", "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN ('users'::regclass, 'orders'::regclass) ORDER BY 1")
	case "mysql":
		queries = append(queries, "SELECT CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, EXTRA) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('users', 'orders') ORDER BY 1",
			"SELECT CONCAT_WS(' ', CONSTRAINT_NAME, DELETE_RULE) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()",
			"SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1")
	case "sqlite":
		queries = append(queries, `SELECT replace(coalesce(sql, ''), '"', '') FROM sqlite_master WHERE tbl_name IN ('users', 'orders', 'customers') ORDER BY name`)
	}
	for _, query := range queries {
		// The comment tells it from a statement that was prepared for other types.
		b.WriteString(strings.Join(dbtest.Rows(t, conn, query+fmt.Sprintf(" -- %d", time.Now().UnixNano())), "\n") + "\n")
	}
	return b.String()
}

var shopTables = []string{"users", "orders", "audit"}

// run runs the command snowkey.
func run(t *testing.T, db dbtest.DB, args ...string) string {
	t.Helper()
	cmd := exec.Command(command, args...)
	cmd.Env = append(os.Environ(), "SNOWKEY_DSN="+db.DSN)
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("snowkey %s: %v: %s", strings.Join(args, " "), err, wrong.String())
	}
	return string(out)
}

// each calls test for each tool and database, with a shop, its plan, and the folder of
// its files.
func each(t *testing.T, test func(t *testing.T, db dbtest.DB, conn *sql.DB, p *autoinc.Plan, files int, newTool func() tool)) {
	for name, open := range tools {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				t.Parallel()
				conn := shop(t, db)
				dir := filepath.Join(t.TempDir(), "migrations")
				tables := []string{"--table", "users", "--table", "orders"}
				if db.Dialect == "postgres" {
					tables = append(tables, "--table", "audit")
				}
				text := run(t, db, append([]string{"migrate", "plan"}, tables...)...)
				p := dbtest.Must(autoinc.ReadPlan(strings.NewReader(text)))(t)
				run(t, db, append([]string{"migrate", "plan", "--files", dir, "--format", name}, tables...)...)
				files := 0
				for _, phase := range p.Phases {
					if slices.ContainsFunc(phase.Steps, func(s autoinc.Step) bool { return s.Run != autoinc.Count }) {
						files++
					}
				}
				test(t, db, conn, p, files, func() tool { return open(t, db, conn, dir) })
			})
		})
	}
}

// The files take the database off auto-increment, and back.
func TestUpAndDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB, conn *sql.DB, p *autoinc.Plan, files int, newTool func() tool) {
		tool := newTool()
		before := state(t, db, conn)
		for range 2 {
			for i := range files {
				if err := tool.up(); err != nil {
					t.Fatalf("file %d of %d: %v", i+1, files, err)
				}
			}
			if err := tool.up(); err == nil {
				t.Errorf("there are more than %d files", files)
			}
			for _, insert := range []string{"INSERT INTO users (name) VALUES ('x')", "INSERT INTO users (id) VALUES (12)"} {
				if _, err := conn.Exec(insert); err == nil {
					t.Errorf("%s was not refused", insert)
				}
			}
			for i := range files {
				if err := tool.down(); err != nil {
					t.Fatalf("file %d of %d back: %v", i+1, files, err)
				}
			}
			if after := state(t, db, conn); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		}
		for range files {
			dbtest.NoError(t, tool.up())
		}
		dbtest.Exec(t, conn, "INSERT INTO users (id) VALUES (7350000000000000001), (7350000000000000002)",
			"INSERT INTO orders (id, user_id) VALUES (7350000000000000003, 7350000000000000002)")
		dbtest.NoError(t, dbtest.Must(autoinc.Verify(t.Context(), conn, p))(t).Err())
		// Now a generated key is in the table.
		with := state(t, db, conn)
		if err := tool.down(); err == nil {
			t.Error("it was reversed with a generated key in the table")
		}
		if after := state(t, db, conn); after != with {
			t.Errorf("after the failure it is\n%s\nand was\n%s", after, with)
		}
	})
}

// A check that finds a row stops the tool. When the row is gone, the same file runs to its
// end.
func TestCheckStops(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB, conn *sql.DB, p *autoinc.Plan, files int, newTool func() tool) {
		orphan := map[string][]string{
			"mysql":  {"SET foreign_key_checks = 0", "INSERT INTO orders (user_id) VALUES (77)", "SET foreign_key_checks = 1"},
			"sqlite": {"PRAGMA foreign_keys = OFF", "INSERT INTO orders (user_id) VALUES (77)", "PRAGMA foreign_keys = ON"},
		}[db.Dialect]
		if orphan == nil {
			t.Skip("an offline plan of Postgres keeps the foreign keys, which check every row")
		}
		one := dbtest.Must(conn.Conn(t.Context()))(t)
		dbtest.Exec(t, one, orphan...)
		one.Close()
		failed := error(nil)
		tool := newTool()
		for range files {
			if failed = tool.up(); failed != nil {
				break
			}
		}
		if failed == nil || !strings.Contains(failed.Error(), "snowkey") && !strings.Contains(failed.Error(), "CHECK") && !strings.Contains(failed.Error(), "foreign key") {
			t.Fatalf("an orphan was not found: %v", failed)
		}
		t.Log(failed)
		conn.Close()
		again := db.Connect(t)
		tool = tool.resume(again)
		dbtest.Exec(t, again, "DELETE FROM orders WHERE user_id = 77")
		var err2 error
		for err2 == nil {
			err2 = tool.up()
		}
		if v, err := autoinc.Verify(t.Context(), again, p); err != nil || v.Err() != nil {
			t.Errorf("%v: %v; the tool ended with %v", err, v.Err(), err2)
		}
	})
}

// TestSQLDefault runs the files of snowkey sql with each tool, forth and back twice. The
// ids go on from the last one.
func TestSQLDefault(t *testing.T) {
	t.Parallel()
	for name, open := range tools {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				t.Parallel()
				kind := db.Dialect
				switch {
				case db.MariaDB:
					kind = "mariadb"
				case kind == "sqlite":
					return // it has no such files
				}
				conn := db.Since(t, 15).Connect(t)
				dir := t.TempDir()
				run(t, db, "sql", "--dialect", kind, "--files", dir, "--format", name)
				tool := open(t, db, conn, dir)
				var last int64
				for range 2 {
					dbtest.NoError(t, tool.up())
					for range 3 {
						var id int64
						if err := conn.QueryRow("SELECT snowkey_next()").Scan(&id); err != nil || id <= last || id>>12&1023 != 1023 {
							t.Errorf("%d follows %d: %v", id, last, err)
						}
						last = id
					}
					dbtest.NoError(t, tool.down())
					var id int64
					if err := conn.QueryRow("SELECT snowkey_next()").Scan(&id); err == nil {
						t.Error("the function is still there")
					}
				}
			})
		})
	}
}
