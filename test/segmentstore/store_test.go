package segmentstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// base is above 2^53, so we notice if a number has been converted to a float.
const base int64 = 1<<53 + 1

func fetch(span int64) segment.Fetch {
	return segment.Fetch{Name: "orders", Min: base, Limit: 1 << 62, Span: span}
}

// of returns a store that uses the default table in the database of conn.
func of(db dbtest.DB, conn *sql.DB) *segmentstore.Store {
	return map[string]func(*sql.DB) *segmentstore.Store{
		"postgres": segmentstore.Postgres, "mysql": segmentstore.MySQL, "sqlite": segmentstore.SQLite,
	}[db.Dialect](conn)
}

// open returns a store for a table, which it creates.
func open(t *testing.T, db dbtest.DB, conn *sql.DB, table string) *segmentstore.Store {
	t.Helper()
	store, err := of(db, conn).WithTable(table)
	if err == nil {
		err = store.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// mustFetch fails the test unless the granted numbers start at want.
func mustFetch(t *testing.T, store segment.Store, f segment.Fetch, want int64) {
	t.Helper()
	if start, err := store.Fetch(t.Context(), f); start != want || err != nil {
		t.Errorf("granted from %d on, %v; want %d", start, err, want)
	}
}

func exec(t *testing.T, conn *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// suite runs the conformance suite in one database, with a separate table for each
// property.
func suite(t *testing.T, db dbtest.DB, conn *sql.DB) {
	t.Helper()
	tables := 0
	segmenttest.Run(t, func(t *testing.T) segment.Store {
		tables++
		return open(t, db, conn, fmt.Sprint("segment", tables))
	})
}

func TestStore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxIdleConns(64) // one connection for each of the 64 processes
		suite(t, db, conn)
		checkFleet(t, db, conn)
	})
}

func TestOneConnection(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		suite(t, db, conn)
	})
}

func requireSetting(t *testing.T, conn *sql.DB, query, want string) {
	t.Helper()
	var got string
	if err := conn.QueryRow(query).Scan(&got); err != nil || got != want {
		t.Fatalf("%s: %q, %v; want %q", query, got, err, want)
	}
}

func TestIsolation(t *testing.T) {
	for _, level := range []string{"repeatable read", "serializable"} { // the default is read committed
		t.Run("postgres "+level, func(t *testing.T) {
			db := dbtest.Postgres(t).With("default_transaction_isolation=" + strings.ReplaceAll(level, " ", "%20"))
			conn := db.Connect(t)
			conn.SetMaxIdleConns(64)
			requireSetting(t, conn, "SHOW transaction_isolation", level)
			suite(t, db, conn)
			checkFleet(t, db, conn)
		})
	}
	for _, level := range []string{"READ-COMMITTED", "SERIALIZABLE"} { // the default is in between
		t.Run("mysql "+level, func(t *testing.T) {
			db := dbtest.MySQL(t)
			variable := "transaction_isolation"
			if db.MariaDB {
				variable = "tx_isolation" // until 11.1
			}
			db = db.With(variable + "=%27" + level + "%27")
			conn := db.ConnectUnlessRefused(t)
			conn.SetMaxIdleConns(64)
			requireSetting(t, conn, "SELECT @@"+variable, level)
			suite(t, db, conn)
			checkFleet(t, db, conn)
		})
	}
}

func TestNamesOfTables(t *testing.T) {
	conn := dbtest.SQLite(t).Connect(t)
	for _, name := range []string{
		"", ".", "a.", ".a", "a.b.c", "a b", "a-b", "1a", "a;b", `a"b`, "a`b", "a'b", "ä", "a\n", "a$b",
		strings.Repeat("x", 52), strings.Repeat("x", 52) + ".a", strings.Repeat("x", 1<<20),
	} {
		t.Run(fmt.Sprintf("%.60q", name), func(t *testing.T) {
			_, err := segmentstore.SQLite(conn).WithTable(name)
			refused, ok := errors.AsType[*segmentstore.TableNameError](err)
			if !ok || refused.Name != name {
				t.Errorf("%.60q: got %v", name, err)
			} else if len(err.Error()) > 400 {
				t.Errorf("%.60q: the error has %d bytes", name, len(err.Error()))
			}
		})
	}
}

func TestTableOfAnotherName(t *testing.T) {
	long := strings.Repeat("x", 50)
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		schema := "main."
		switch db.Dialect {
		case "postgres":
			schema = "Select."
			exec(t, conn, `CREATE SCHEMA "Select"`)
		case "mysql":
			if err := conn.QueryRow("SELECT CONCAT(DATABASE(), '.')").Scan(&schema); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"Order", "order2", "_", "x" + long, schema + "Order3", schema + "y" + long} {
			store := open(t, db, conn, table)
			mustFetch(t, store, fetch(10), base)
			mustFetch(t, store, fetch(10), base+10)
		}
	})
}

func TestMigrate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		store := of(db, conn)
		if start, err := store.Fetch(t.Context(), fetch(10)); err == nil || !strings.Contains(err.Error(), "snowkey_segment") {
			t.Errorf("without a table: %d, %v", start, err)
		}
		for round := range int64(2) {
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if err := store.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			mustFetch(t, store, fetch(10), base+10*round)
		}
		var start, bound int64
		if err := conn.QueryRow("SELECT start, bound FROM snowkey_segment WHERE name = 'orders'").Scan(&start, &bound); err != nil || start != base+10 || bound != base+20 {
			t.Errorf("the row says %d to %d, %v", start, bound, err)
		}
	})
}

func TestStoreWithoutADatabase(t *testing.T) {
	for name, store := range map[string]*segmentstore.Store{"zero": {}, "nil": nil, "of no DB": segmentstore.Postgres(nil)} {
		t.Run(name, func(t *testing.T) {
			_, fetched := store.Fetch(t.Context(), fetch(10))
			_, named := store.WithTable("a")
			for i, err := range []error{fetched, named, store.Migrate(t.Context())} {
				if err == nil || !strings.HasPrefix(err.Error(), "segmentstore: there is no database") {
					t.Errorf("%s store, method %d: %v", name, i, err)
				}
			}
		})
	}
}

// The privileges listed in the documentation must be enough. This includes calling
// Migrate, as long as the tables exist.
func TestLeastPrivileges(t *testing.T) {
	check := func(t *testing.T, db dbtest.DB, least *sql.DB) {
		t.Helper()
		store := open(t, db, least, "segment")
		mustFetch(t, store, fetch(10), base)
		mustFetch(t, store, fetch(10), base+10)
		if _, err := least.Exec("DELETE FROM segment"); err == nil {
			t.Error("the role can delete rows, so that this test shows nothing")
		}
	}
	t.Run("postgres", func(t *testing.T) {
		db := dbtest.Postgres(t)
		conn := db.Connect(t)
		open(t, db, conn, "segment")
		var database string
		if err := conn.QueryRow("SELECT current_database()").Scan(&database); err != nil {
			t.Fatal(err)
		}
		role := strings.Replace(database, "snowkey_", "role_", 1)
		exec(t, conn, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'")
		t.Cleanup(func() { exec(t, conn, "DROP OWNED BY "+role, "DROP ROLE "+role) })
		exec(t, conn, "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
			"GRANT SELECT, INSERT, UPDATE (start, bound) ON segment TO "+role)
		dsn, err := url.Parse(db.DSN)
		if err != nil {
			t.Fatal("the DSN is no URL")
		}
		dsn.User = url.UserPassword(role, "x")
		db.DSN = dsn.String()
		check(t, db, db.Connect(t))
	})
	t.Run("mysql", func(t *testing.T) {
		db := dbtest.MySQL(t)
		conn := db.Connect(t)
		open(t, db, conn, "segment")
		cfg, err := mysql.ParseDSN(db.DSN)
		if err != nil {
			t.Fatal("the DSN cannot be read")
		}
		role := strings.Replace(cfg.DBName, "snowkey_", "role_", 1)
		exec(t, conn, "CREATE USER "+role+" IDENTIFIED BY 'x'", "GRANT SELECT, INSERT, UPDATE ON segment TO "+role)
		t.Cleanup(func() { exec(t, conn, "DROP USER "+role) })
		cfg.User, cfg.Passwd = role, "x"
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		least := sql.OpenDB(connector)
		t.Cleanup(func() { least.Close() })
		check(t, db, least)
	})
}

// TestCommitThatFails makes the commit fail even though the row has already been
// returned.
func TestCommitThatFails(t *testing.T) {
	for dialect, fail := range map[string][]string{
		"postgres": {
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused at commit'; END $$`,
			`CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON segment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`,
		},
		"sqlite": {
			`CREATE TABLE known (name TEXT PRIMARY KEY)`,
			`CREATE TABLE child (name TEXT REFERENCES known DEFERRABLE INITIALLY DEFERRED)`,
			`CREATE TRIGGER refuse AFTER UPDATE ON segment BEGIN INSERT INTO child VALUES ('unknown'); END`,
		},
	} {
		t.Run(dialect, func(t *testing.T) {
			db := dbtest.Open(t, dialect)
			conn := db.Connect(t)
			store := open(t, db, conn, "segment")
			mustFetch(t, store, fetch(10), base)
			exec(t, conn, fail...)
			if start, err := store.Fetch(t.Context(), fetch(10)); err == nil {
				t.Errorf("a fetch that was not committed is granted from %d on", start)
			}
		})
	}
}

// TestCommitWaits uses a server whose commits don't wait for the disk, and checks how
// much of its log hasn't been written yet.
func TestCommitWaits(t *testing.T) {
	db := dbtest.Durable(t, "postgres").With("synchronous_commit=off")
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1)
	requireSetting(t, conn, "SHOW synchronous_commit", "off")
	exec(t, conn, "ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()")
	store := open(t, db, conn, "segment")
	exec(t, conn, "CREATE TABLE other (n bigint)")
	unflushed := func() (n int64) {
		if err := conn.QueryRow("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range int64(2) { // the first creates the name
		exec(t, conn, "INSERT INTO other VALUES (1)")
		if unflushed() == 0 {
			t.Error("this server flushes every commit, so that this test shows nothing")
		}
		mustFetch(t, store, fetch(10), base+10*i)
		if n := unflushed(); n != 0 {
			t.Errorf("a fetch left %d bytes of its log unflushed", n)
		}
	}
	requireSetting(t, conn, "SHOW synchronous_commit", "off")
}
