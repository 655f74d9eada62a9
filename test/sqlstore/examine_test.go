package sqlstore_test

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

func examine(t *testing.T, store lease.Store) (kinds []string) {
	t.Helper()
	found, err := store.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

// Examine must find each of the settings that it knows about. A database with the usual
// settings must not have any of them.
func TestExamine(t *testing.T) {
	expect := func(t *testing.T, store lease.Store, want ...string) {
		t.Helper()
		if got := examine(t, store); !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		db := dbtest.Durable(t, "postgres")
		conn := db.Connect(t)
		exec(t, conn, "CREATE SCHEMA app")
		store := open(t, db, conn, "app.lease")
		claimed(t, store)
		expect(t, store)
		exec(t, conn, "ALTER TABLE app.lease SET UNLOGGED")
		expect(t, store, "unlogged")
		exec(t, conn, "ALTER TABLE app.lease_ns SET UNLOGGED")
		expect(t, store, "unlogged", "unlogged")
		exec(t, conn, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
		await(t, "the reload", func() bool {
			var fsync string
			return db.Connect(t).QueryRow("SHOW fsync").Scan(&fsync) == nil && fsync == "off"
		})
		read := open(t, db, db.With("default_transaction_read_only=on").Connect(t), "app.lease")
		expect(t, read, "not-flushed", "read-only", "unlogged", "unlogged")
	})
	t.Run("mysql", func(t *testing.T) {
		db := dbtest.Durable(t, "mysql")
		conn := db.Connect(t)
		store := open(t, db, conn, "lease")
		claimed(t, store)
		expect(t, store)
		exec(t, conn, "ALTER TABLE lease ENGINE = MEMORY")
		expect(t, store, "engine")
		exec(t, conn, "ALTER TABLE lease_ns ENGINE = MEMORY")
		expect(t, store, "engine", "engine")
		exec(t, conn, "SET GLOBAL read_only = 1")
		expect(t, store, "engine", "engine", "read-only")
	})
	t.Run("mysql, another database", func(t *testing.T) {
		db := dbtest.MySQL(t)
		conn := db.Connect(t)
		var name string
		if err := conn.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		store := open(t, db, conn, name+".lease")
		claimed(t, store)
		exec(t, conn, "ALTER TABLE lease ENGINE = MEMORY")
		var engine string
		if err := conn.QueryRow("SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'lease'").Scan(&engine); err != nil {
			t.Fatal(err)
		}
		if engine != "MEMORY" {
			t.Skipf("%s has only the engine %s", db.Version, engine) // TiDB accepts the statement
		}
		if got := examine(t, store); !slices.Contains(got, "engine") {
			t.Errorf("found %v", got)
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		db := dbtest.SQLite(t)
		claimed(t, open(t, db, db.Connect(t), "lease"))
		expect(t, open(t, db, db.Connect(t), "lease"))
		db = dbtest.SQLite(t)
		db = db.With("_pragma=journal_mode(memory)")
		claimed(t, open(t, db, db.Connect(t), "lease"))
		expect(t, open(t, db, db.Connect(t), "lease"), "not-flushed")
		expect(t, open(t, db, db.With("_pragma=query_only(1)").Connect(t), "lease"), "not-flushed", "read-only")
	})
}
