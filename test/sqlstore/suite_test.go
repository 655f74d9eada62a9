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

	_ "github.com/go-sql-driver/mysql"
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

func (s *operated) Delete(ctx context.Context, t lease.Terms, worker int64) error {
	return s.exec(ctx, "DELETE FROM {lease} WHERE namespace = ? AND layout = ? AND worker = ?", t.Namespace, t.Layout, worker)
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

// open returns a store that uses the tables called table in the database of conn.
func open(t *testing.T, db dbtest.DB, conn *sql.DB, table string) *operated {
	t.Helper()
	var store *sqlstore.Store
	quote := `"`
	switch db.Dialect {
	case "postgres":
		store = sqlstore.Postgres(conn)
	case "mysql":
		store, quote = sqlstore.MySQL(conn), "`"
	case "sqlite":
		store = sqlstore.SQLite(conn)
	}
	store, err := store.WithTable(table)
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(name string) string {
		return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote
	}
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

func TestStore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxIdleConns(64) // one connection for each of the 64 processes
		suite(t, db, conn)
	})
}

func TestOneConnection(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		suite(t, db, conn)
	})
}

// TestIsolation runs the suite with the strictest isolation level, and TestNightlyIsolation
// with the others, since servers have different defaults.
func TestIsolation(t *testing.T) { isolation(t, "serializable") }

// isolation runs the suite with isolation levels. On MySQL, it also counts rows in both
// ways. The level makes no difference if there's just one connection, because statements
// can't be concurrent.
func isolation(t *testing.T, levels ...string) {
	for _, level := range levels {
		t.Run("postgres "+level, func(t *testing.T) {
			db := dbtest.Postgres(t).With("default_transaction_isolation=" + strings.ReplaceAll(level, " ", "%20"))
			conn := db.Connect(t)
			conn.SetMaxIdleConns(64)
			requireSetting(t, conn, "SHOW transaction_isolation", level)
			suite(t, db, conn)
		})
	}
	for _, level := range levels {
		level := strings.ToUpper(strings.ReplaceAll(level, " ", "-"))
		for _, found := range []bool{false, true} {
			t.Run(fmt.Sprintf("mysql %s, rows found are counted %v", level, found), func(t *testing.T) {
				db := dbtest.MySQL(t)
				variable := "transaction_isolation"
				if db.MariaDB {
					variable = "tx_isolation" // until 11.1
				}
				db = db.With(fmt.Sprintf("%s=%%27%s%%27&clientFoundRows=%v", variable, level, found))
				conn := db.ConnectUnlessRefused(t)
				conn.SetMaxIdleConns(64)
				requireSetting(t, conn, "SELECT @@"+variable, level)
				suite(t, db, conn)
			})
		}
	}
}

// TestSnapshotIsolation makes MariaDB refuse to update a row that has changed since its
// transaction began. This is the default since 11.6.2.
func TestSnapshotIsolation(t *testing.T) {
	db := dbtest.MySQL(t)
	err := db.Connect(t).QueryRow("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").Scan(new(string), new(string))
	if errors.Is(err, sql.ErrNoRows) {
		t.Skipf("%s has no snapshot isolation to turn on", db.Version)
	}
	db = db.With("innodb_snapshot_isolation=ON&tx_isolation=%27REPEATABLE-READ%27")
	conn := db.Connect(t)
	conn.SetMaxIdleConns(64)
	requireSetting(t, conn, "SELECT @@innodb_snapshot_isolation", "1")
	suite(t, db, conn)
}

func requireSetting(t *testing.T, conn *sql.DB, query, want string) {
	t.Helper()
	var got string
	if err := conn.QueryRow(query).Scan(&got); err != nil || got != want {
		t.Fatalf("%s: %q, %v; want %q", query, got, err, want)
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
			if _, err := conn.Exec(`CREATE SCHEMA "Select"`); err != nil {
				t.Fatal(err)
			}
		case "mysql":
			if err := conn.QueryRow("SELECT CONCAT(DATABASE(), '.')").Scan(&schema); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"Order", "order2", "_", "x" + long, schema + "Order3", schema + "y" + long} {
			claimed(t, open(t, db, conn, table))
		}
	})
}

// probe reads what a claim needs to know about the namespace that leased creates.
func probe(t testing.TB, store lease.Store) lease.Probe {
	t.Helper()
	p, err := store.Probe(t.Context(), lease.Query{Terms: terms, Max: 1023})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// free migrates the store, and returns a claim for a new worker number.
func free(t testing.TB, store lease.Store) lease.Claim {
	t.Helper()
	ctx := t.Context()
	for _, err := range []error{store.Migrate(ctx), store.AddRows(ctx, terms, 7, 7)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.CreateNamespace(ctx, terms, 0); err != nil {
		t.Fatal(err)
	}
	p := probe(t, store)
	return lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: "first", Wanted: 1 << 62, Volatile: p.Volatile}
}

// claimed migrates the store, and leases a worker number.
func claimed(t testing.TB, store lease.Store) lease.Row {
	t.Helper()
	row, ok, err := store.Claim(t.Context(), free(t, store))
	if !ok || err != nil {
		t.Fatal("not claimed:", ok, err)
	}
	return row
}

var terms = lease.Terms{Namespace: "ns", Layout: "a layout", Unit: 1000, PerTick: 4096, Workers: 1024, Ahead: 12e6, TTL: 15e6}
