package segmentstore_test

import (
	"database/sql"
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
// property. The names of the tables need quotes.
func suite(t *testing.T, db dbtest.DB, conn *sql.DB) {
	t.Helper()
	tables := 0
	segmenttest.Run(t, func(t *testing.T) segment.Store {
		tables++
		return open(t, db, conn, fmt.Sprint("Select", tables))
	})
}

// A setting is one way in which connections can be set up. The store conforms under each
// of them. Those that are not fast are tested at night.
var settings = []struct {
	dialect, name, dsn string
	one                bool // there's only one connection
	fast               bool
}{
	{dialect: "sqlite", name: "defaults", fast: true},
	{dialect: "sqlite", name: "one connection", one: true},
	{dialect: "postgres", name: "defaults"},
	{dialect: "postgres", name: "one connection", one: true},
	{dialect: "postgres", name: "exec, as PgBouncer needs", dsn: "default_query_exec_mode=exec"},
	{dialect: "postgres", name: "the simple protocol", dsn: "default_query_exec_mode=simple_protocol"},
	{dialect: "postgres", name: "with commits that do not wait", dsn: "synchronous_commit=off"},
	{dialect: "postgres", name: "repeatable read", dsn: "default_transaction_isolation=repeatable%20read"},
	{dialect: "postgres", name: "serializable", dsn: "default_transaction_isolation=serializable", fast: true},
	{dialect: "mysql", name: "defaults"},
	{dialect: "mysql", name: "one connection", one: true},
	{dialect: "mysql", name: "rows found are counted", dsn: "clientFoundRows=true"},
	{dialect: "mysql", name: "parameters within the text", dsn: "interpolateParams=true"},
	{dialect: "mysql", name: "in ANSI mode", dsn: "sql_mode=%27ANSI,TRADITIONAL%27"},
	{dialect: "mysql", name: "read committed", dsn: "{isolation}=%27READ-COMMITTED%27"},
	{dialect: "mysql", name: "serializable", dsn: "{isolation}=%27SERIALIZABLE%27", fast: true},
}

func TestStore(t *testing.T) {
	t.Parallel()
	for _, s := range settings {
		if !s.fast && !dbtest.Nightly {
			continue
		}
		t.Run(s.dialect+" "+s.name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, s.dialect)
			isolation := "transaction_isolation"
			if db.MariaDB {
				isolation = "tx_isolation" // until 11.1
			}
			if s.dsn != "" {
				db = db.With(strings.ReplaceAll(s.dsn, "{isolation}", isolation))
			}
			conn := db.ConnectUnlessRefused(t)
			if conn.SetMaxIdleConns(64); s.one { // one connection for each of the 64 processes
				conn.SetMaxOpenConns(1)
			}
			suite(t, db, conn)
			checkFleet(t, db, conn)
		})
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	if _, err := segmentstore.SQLite(new(sql.DB)).WithTable("a b"); err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("the name of a table: %v", err)
	}
}

// The privileges listed in the documentation must be enough. This includes calling
// Migrate, as long as the tables exist.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
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
