package sqlstore_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"
	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// operated is a store whose rows can be edited by tests.
type operated struct {
	*sqlstore.Store
	db        *sql.DB
	dialect   string
	lease, ns string // names of the tables
	steady    bool   // believes that every commit is permanent
}

func (s *operated) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	p, err := s.Store.Probe(ctx, q)
	p.Volatile = p.Volatile && !s.steady
	return p, err
}

func (s *operated) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	c.Volatile = c.Volatile || s.steady // makes the store accept it
	return s.Store.Claim(ctx, c)
}

func (s *operated) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	r.Volatile = r.Volatile || s.steady
	return s.Store.Renew(ctx, r)
}

func (s *operated) exec(ctx context.Context, statement string, values ...any) error {
	statement = strings.NewReplacer("{lease}", s.lease, "{ns}", s.ns).Replace(statement)
	if s.dialect == "postgres" {
		for n := range values {
			statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", n+1), 1)
		}
	}
	_, err := s.db.ExecContext(ctx, statement, values...)
	return err
}

func (s *operated) Edit(ctx context.Context, t lease.Terms, r lease.Row) error {
	return s.exec(ctx, "UPDATE {lease} SET token = ?, revision = ?, bound = ?, expires_at = ?, label = ? WHERE namespace = ? AND layout = ? AND worker = ?",
		cmp.Or(r.Token, "-"), r.Revision, r.Bound, r.Expires, cmp.Or(r.Label, "-"), t.Namespace, t.Layout, r.Worker)
}

func (s *operated) DeleteNamespace(ctx context.Context, t lease.Terms) error {
	return s.exec(ctx, "DELETE FROM {ns} WHERE namespace = ? AND layout = ?", t.Namespace, t.Layout)
}

func (s *operated) SetFingerprint(ctx context.Context, t lease.Terms, fingerprint string) error {
	if s.dialect == "postgres" { // the current fingerprint contains the transaction that wrote it
		return s.exec(ctx, `UPDATE {ns} SET fingerprint = regexp_replace(?, '(.*/.*/.*)/[0-9]+$', '\1/' || txid_current() % 4294967296) WHERE namespace = ? AND layout = ?`, fingerprint, t.Namespace, t.Layout)
	}
	return s.exec(ctx, "UPDATE {ns} SET fingerprint = ? WHERE namespace = ? AND layout = ?", fingerprint, t.Namespace, t.Layout)
}

// servers are the stores of database servers, by dialect.
var servers = map[string]func(*sql.DB) *sqlstore.Store{"postgres": sqlstore.Postgres, "mysql": sqlstore.MySQL}

// storeOf returns the store that a program with this database would use.
func storeOf(db dbtest.DB, conn *sql.DB) lease.Store {
	if db.Dialect == "sqlite" {
		return sqlstore.SQLite(conn)
	}
	return servers[db.Dialect](conn)
}

// open returns a store that uses the tables called table in the database of conn.
func open(t *testing.T, db dbtest.DB, conn *sql.DB, table string) *operated {
	t.Helper()
	quote := map[string]string{"postgres": `"`, "mysql": "`"}[db.Dialect]
	quoted := func(name string) string {
		return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote
	}
	store := dbtest.Must(servers[db.Dialect](conn).WithTable(table))(t)
	return &operated{Store: store, db: conn, dialect: db.Dialect, lease: quoted(table), ns: quoted(table + "_ns")}
}

// suite runs the conformance suite in one database, with separate tables for each
// property.
func suite(t *testing.T, db dbtest.DB, conn *sql.DB) {
	t.Helper()
	tables := 0
	leasetest.Run(t, func(t *testing.T) lease.Store {
		tables++
		return open(t, db, conn, fmt.Sprint("lease", tables))
	})

	// The servers used by tests run on this host, so they have the same clock.
	store := open(t, db, conn, "lease1")
	before := time.Now().Add(-time.Second)
	if now := time.UnixMicro(probe(t, store).Now); now.Before(before) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("the store's time is %v, not after %v", now.UTC(), before.UTC())
	}
}

// A setting is one way in which connections can be set up. The stores of leases, segments
// and sessions conform under each of them. Those that are not fast are tested at night, in
// TestNightlySettings.
type setting struct {
	dialect, name, dsn string
	query, want        string // confirm that the setting is in effect
	one                bool   // there's only one connection, so statements can't be concurrent
	fast               bool
	noLeases           bool // they have tests of their own
}

var settings = []setting{
	{dialect: "sqlite", name: "defaults", fast: true, noLeases: true},
	{dialect: "sqlite", name: "one connection", one: true, fast: true, noLeases: true},
	{dialect: "postgres", name: "one connection", one: true},
	{dialect: "postgres", name: "repeatable read", dsn: "default_transaction_isolation=repeatable%20read", query: "SHOW transaction_isolation", want: "repeatable read"},
	{dialect: "postgres", name: "serializable", dsn: "default_transaction_isolation=serializable", query: "SHOW transaction_isolation", want: "serializable"},
	{dialect: "postgres", name: "serializable, and exec as PgBouncer needs", dsn: "default_transaction_isolation=serializable&default_query_exec_mode=exec",
		query: "SHOW transaction_isolation", want: "serializable", fast: true},
	{dialect: "postgres", name: "the simple protocol", dsn: "default_query_exec_mode=simple_protocol"},
	{dialect: "postgres", name: "far from UTC, with commits that do not wait", dsn: "timezone=Asia%2FKathmandu&synchronous_commit=off"},
	{dialect: "mysql", name: "one connection", one: true},
	{dialect: "mysql", name: "read committed", dsn: "{isolation}=%27READ-COMMITTED%27", query: "SELECT @@{isolation}", want: "READ-COMMITTED"},
	{dialect: "mysql", name: "serializable", dsn: "{isolation}=%27SERIALIZABLE%27", query: "SELECT @@{isolation}", want: "SERIALIZABLE"},
	{dialect: "mysql", name: "serializable, rows found are counted", dsn: "{isolation}=%27SERIALIZABLE%27&clientFoundRows=true", query: "SELECT @@{isolation}", want: "SERIALIZABLE", fast: true},
	{dialect: "mysql", name: "autocommit off", dsn: "autocommit=0", query: "SELECT @@autocommit", want: "0", fast: true, noLeases: true},
	{dialect: "mysql", name: "rows found are counted", dsn: "clientFoundRows=true"},
	// MariaDB refuses to update a row that has changed since its transaction began. This is the default since 11.6.2.
	{dialect: "mysql", name: "snapshot isolation", dsn: "innodb_snapshot_isolation=ON&{isolation}=%27REPEATABLE-READ%27", query: "SELECT @@innodb_snapshot_isolation", want: "1"},
	{dialect: "mysql", name: "parameters within the text", dsn: "interpolateParams=true"},
	{dialect: "mysql", name: "far from UTC, in ANSI mode", dsn: "time_zone=%27%2B05%3A45%27&sql_mode=%27ANSI,TRADITIONAL%27"},
}

// TestStore runs the suites. On Postgres and MySQL, TestLeastPrivileges runs that of leases
// with the default settings.
func TestStore(t *testing.T) {
	t.Parallel()
	underSettings(t, true)
}

func underSettings(t *testing.T, fast bool) {
	for _, s := range settings {
		if s.fast != fast {
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
			conn := dbtest.Must(sql.Open(db.Driver, db.DSN))(t)
			t.Cleanup(func() { conn.Close() })
			const unsupportedIsolation, unknownVariable = 8048, 1193 // TiDB refuses SERIALIZABLE
			err := conn.Ping()
			if e, ok := errors.AsType[*mysql.MySQLError](err); ok && (e.Number == unsupportedIsolation || e.Number == unknownVariable) {
				t.Skipf("%s does not have this setting: %v", db.Version, e)
			}
			dbtest.NoError(t, err)
			conn.SetMaxIdleConns(64) // one connection for each of the 64 processes
			if s.one {
				conn.SetMaxOpenConns(1)
			}
			if s.query != "" {
				requireSetting(t, conn, strings.ReplaceAll(s.query, "{isolation}", isolation), s.want)
			}
			if !s.noLeases {
				suite(t, db, conn)
			}
			t.Run("segments", func(t *testing.T) { segments(t, db, conn) })
			t.Run("sessions", func(t *testing.T) { sessions(t, db, conn) })
		})
	}
}

func requireSetting(t *testing.T, conn *sql.DB, query, want string) {
	t.Helper()
	var got string
	if err := conn.QueryRow(query).Scan(&got); err != nil || got != want {
		t.Fatalf("%s: %q, %v; want %q", query, got, err, want)
	}
}

func TestTableOfAnotherName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 50)
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		var schema string
		switch db.Dialect {
		case "postgres":
			schema = "Select."
			dbtest.Must(conn.Exec(`CREATE SCHEMA "Select"`))(t)
		case "mysql":
			schema = dbtest.Rows(t, conn, "SELECT DATABASE()")[0] + "."
		}
		for _, table := range []string{"Order", "order2", "_", "x" + long, schema + "Order3", schema + "y" + long} {
			claimed(t, open(t, db, conn, table))
		}
	})
}

// probe reads what a claim needs to know about the namespace that leased creates.
func probe(t testing.TB, store lease.Store) lease.Probe { t.Helper(); return probeOf(t, store, terms) }

func probeOf(t testing.TB, store lease.Store, terms lease.Terms) lease.Probe {
	t.Helper()
	return dbtest.Must(store.Probe(t.Context(), lease.Query{Terms: terms, Max: 1023}))(t)
}

// free migrates the store, and returns a claim for a new worker number.
func free(t testing.TB, store lease.Store) lease.Claim {
	t.Helper()
	dbtest.NoError(t, store.Migrate(t.Context()))
	return freeOf(t, store, terms)
}

func freeOf(t testing.TB, store lease.Store, terms lease.Terms) lease.Claim {
	t.Helper()
	dbtest.NoError(t, store.AddRows(t.Context(), terms, 7, 7))
	dbtest.Must(store.CreateNamespace(t.Context(), terms, 0))(t)
	p := probeOf(t, store, terms)
	return lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: "first", Wanted: 1 << 62, Volatile: p.Volatile}
}

// claimed migrates the store, and leases a worker number.
func claimed(t testing.TB, store lease.Store) lease.Row {
	t.Helper()
	return granted(t, store, free(t, store))
}

func granted(t testing.TB, store lease.Store, c lease.Claim) lease.Row {
	t.Helper()
	row, ok, err := store.Claim(t.Context(), c)
	if !ok || err != nil {
		t.Fatal("not claimed:", ok, err)
	}
	return row
}

var terms = lease.Terms{Namespace: "ns", Layout: "a layout", Unit: 1000, PerTick: 4096, Workers: 1024, Ahead: 12e6, TTL: 15e6}
