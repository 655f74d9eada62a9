package sqlstore_test

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

func examine(t *testing.T, store lease.Store) (kinds []string) {
	t.Helper()
	found := dbtest.Must(store.Examine(t.Context()))(t)
	for _, f := range found {
		if f.Text == "" || f.Remedy == "" {
			t.Errorf("a finding says %q", f)
		}
		t.Log(f)
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return kinds
}

// TestSettingsOfServers has the tests that change a server, or need one that flushes
// every commit.
func TestSettingsOfServers(t *testing.T) {
	t.Parallel()
	type test struct {
		name string
		run  func(*testing.T, dbtest.DB)
	}
	for dialect, tests := range map[string][]test{
		"postgres": {{"unknown names", unknownNames}, {"commits wait", commitsWait}, {"examine", examinePostgres}},
		"mysql":    {{"unknown names", unknownNames}, {"volatile", volatileMySQL}, {"examine", examineMySQL}},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Durable(t, dialect)
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, db) })
			}
		})
	}
}

func volatileMySQL(t *testing.T, db dbtest.DB) {
	conn := db.Connect(t)
	store := open(t, db, conn, "volatile")
	claimed(t, store)
	for _, level := range []string{"0", "2", "1"} {
		dbtest.Exec(t, conn, "SET GLOBAL innodb_flush_log_at_trx_commit = "+level)
		checkVolatile(t, store, level != "1")
	}
}

// expect fails the test unless Examine finds just these kinds.
func expect(t *testing.T, store lease.Store, want ...string) {
	t.Helper()
	if got := examine(t, store); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// Examine must find each of the settings that it knows about. A database with the usual
// settings must not have any of them.
func examinePostgres(t *testing.T, db dbtest.DB) {
	conn := db.Connect(t)
	dbtest.Exec(t, conn, "CREATE SCHEMA app")
	store := open(t, db, conn, "app.lease")
	claimed(t, store)
	expect(t, store)
	dbtest.Exec(t, conn, "ALTER TABLE app.lease SET UNLOGGED")
	expect(t, store, "unlogged")
	dbtest.Exec(t, conn, "ALTER TABLE app.lease_ns SET UNLOGGED")
	expect(t, store, "unlogged", "unlogged")
	dbtest.Exec(t, conn, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
	dbtest.Await(t, "the reload", func() bool {
		var fsync string
		return db.Connect(t).QueryRow("SHOW fsync").Scan(&fsync) == nil && fsync == "off"
	})
	read := open(t, db, db.With("default_transaction_read_only=on").Connect(t), "app.lease")
	expect(t, read, "not-flushed", "read-only", "unlogged", "unlogged")
}

func examineMySQL(t *testing.T, db dbtest.DB) {
	conn := db.Connect(t)
	store := open(t, db, conn, "examined")
	claimed(t, store)
	expect(t, store)
	dbtest.Exec(t, conn, "ALTER TABLE examined ENGINE = MEMORY")
	expect(t, store, "engine")
	expect(t, open(t, db, conn, dbtest.Rows(t, conn, "SELECT DATABASE()")[0]+".examined"), "engine")
	dbtest.Exec(t, conn, "ALTER TABLE examined_ns ENGINE = MEMORY")
	expect(t, store, "engine", "engine")
	dbtest.Exec(t, conn, "SET GLOBAL read_only = 1")
	expect(t, store, "engine", "engine", "read-only")
}

// commitsWait uses connections whose commits don't wait for the disk, and checks how much
// of the server's log hasn't been written yet.
func commitsWait(t *testing.T, db dbtest.DB) {
	db = db.With("synchronous_commit=off")
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1)
	requireSetting(t, conn, "SHOW synchronous_commit", "off")
	dbtest.Exec(t, conn, "ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()")
	store := open(t, db, conn, "lease")
	claimed(t, store)
	var held lease.Row
	dbtest.Exec(t, conn, "UPDATE lease SET label = 'x'")
	if dbtest.Rows(t, conn, "SELECT pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()")[0] != "true" {
		t.Error("this server flushes every commit, so that this test shows nothing")
	}
	ctx := t.Context()
	segments := openSegments(t, db, conn, "segment")
	fetch := func() (bool, error) {
		_, err := fetch(t, segments, 10)
		return true, err
	}
	another := terms
	another.Namespace = "another"
	for _, step := range []struct {
		name string
		run  func() (changed bool, err error)
	}{
		{"CreateNamespace", func() (bool, error) { return store.CreateNamespace(ctx, another, 0) }},
		{"AddRows", func() (bool, error) { return true, store.AddRows(ctx, terms, 8, 9) }},
		{"Fence", func() (bool, error) { return true, store.Fence(ctx, terms, "") }},
		{"Claim", func() (ok bool, err error) {
			p := probe(t, store)
			held, ok, err = store.Claim(ctx, lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: "first"})
			return ok, err
		}},
		{"Renew", func() (ok bool, err error) {
			held, ok, err = store.Renew(ctx, lease.Renewal{Terms: terms, Held: held, Token: "second"})
			return ok, err
		}},
		{"Release", func() (bool, error) { return store.Release(ctx, terms, held, 0) }},
		{"the first Fetch", fetch}, {"Fetch", fetch}, // a segment's store has statements of its own
	} {
		dbtest.Exec(t, conn, "UPDATE lease SET label = 'y'")
		before := dbtest.Rows(t, conn, "SELECT pg_current_wal_insert_lsn()")[0]
		if changed, err := step.run(); !changed || err != nil {
			t.Fatal(step.name, changed, err)
		}
		// The server's own processes may have written to the log since.
		if flushed := dbtest.Rows(t, conn, "SELECT pg_current_wal_flush_lsn() > '"+before+"'")[0]; flushed != "true" {
			t.Errorf("%s left its log unflushed", step.name)
		}
	}
	requireSetting(t, conn, "SHOW synchronous_commit", "off")
}
