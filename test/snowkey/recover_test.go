package snowkey_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gomysql "github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// storeOf returns a store on a connection to db.
func storeOf(db dbtest.DB, conn *sql.DB) *sqlstore.Store {
	switch db.Dialect {
	case "postgres":
		return sqlstore.Postgres(conn)
	case "mysql":
		return sqlstore.MySQL(conn)
	}
	return sqlstore.SQLite(conn)
}

func execAll(t *testing.T, conn *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// lostTables runs pools that draw ids all the time, while what keeps their leases
// is removed, several times. All of them draw ids again, and none draws an id that
// another has.
func lostTables(t *testing.T, stores []lease.Store, remove func()) {
	cfg := snowkey.Config{MaxWorker: 7, Window: time.Second, MaxClockSkew: 200 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var drawn []map[int64]bool
	for range stores {
		drawn = append(drawn, make(map[int64]bool))
	}
	var pools []*idgen.Pool
	for i, store := range stores {
		pool := openLayout(t, store, idgen.DefaultLayout(), cfg)
		pools = append(pools, pool)
		wg.Go(func() {
			for ctx.Err() == nil {
				once, done := context.WithTimeout(ctx, time.Second)
				ids, err := pool.NextN(once, 20)
				done()
				mu.Lock()
				for _, id := range ids {
					for j, seen := range drawn {
						if seen[id] {
							t.Errorf("pool %d drew id %d, and so did pool %d", i, id, j)
						}
					}
					drawn[i][id] = true
				}
				mu.Unlock()
				if err == nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	for range 2 {
		time.Sleep(500 * time.Millisecond)
		mu.Lock()
		remove()
		removed := time.Now()
		mu.Unlock()
		// By now the ids that were granted are used up.
		time.Sleep(1500 * time.Millisecond)
		for i, pool := range pools {
			once, done := context.WithTimeout(ctx, 5*time.Second)
			if _, err := pool.Next(once); err != nil {
				t.Errorf("pool %d has no id %v after its leases were removed: %v", i, time.Since(removed), err)
			}
			done()
		}
		t.Logf("all pools draw ids %v after the leases were removed", time.Since(removed).Round(time.Millisecond))
	}
	cancel()
	wg.Wait()
	for i, pool := range pools {
		if err := pool.Close(context.Background()); err != nil {
			t.Errorf("pool %d: %v", i, err)
		}
		if len(drawn[i]) < 1000 {
			t.Errorf("pool %d drew %d ids", i, len(drawn[i]))
		}
	}
}

func TestTablesAreDropped(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var stores []lease.Store
		for range 3 {
			stores = append(stores, storeOf(db, db.Connect(t)))
		}
		conn := db.Connect(t)
		lostTables(t, stores, func() { execAll(t, conn, "DROP TABLE snowkey_lease", "DROP TABLE snowkey_lease_ns") })
	})
}

func TestDirectoryIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	lostTables(t, []lease.Store{filestore.Dir(dir), filestore.Dir(dir), filestore.Dir(dir)}, func() {
		for os.RemoveAll(dir) != nil { // a process may write to it at this time
		}
	})
}

// A pool that must not create tables says what to do, and goes on once they exist.
func TestTablesAreDroppedAndSkipMigrate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		store := storeOf(db, conn)
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		pool := openLayout(t, store, idgen.DefaultLayout(), snowkey.Config{MaxWorker: 1, Window: time.Second, MaxClockSkew: 200 * time.Millisecond, SkipMigrate: true})
		before := mustNext(t, pool)
		execAll(t, conn, "DROP TABLE snowkey_lease", "DROP TABLE snowkey_lease_ns")
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := pool.NextN(ctx, 1)
		for err == nil && ctx.Err() == nil {
			_, err = pool.NextN(ctx, 1)
		}
		if !errors.Is(err, lease.ErrNotMigrated) || !strings.Contains(err.Error(), "run the migration") {
			t.Errorf("got %v", err)
		}
		var tables int
		if err := conn.QueryRow("SELECT COUNT(*) FROM snowkey_lease").Scan(&tables); err == nil {
			t.Error("the table was created all the same")
		}
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if id, err := pool.Next(ctx); err != nil || id <= before {
			t.Errorf("after the migration: %d after %d, %v", id, before, err)
		}
	})
}

// A third and a fourth layout open after the rows of the first were deleted.
func TestLayoutsAfterDeletedRows(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		for site := range int64(4) {
			l, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
				idgen.Time(41), idgen.Fixed("site", 2, site), idgen.Worker(4), idgen.Sequence(12))
			if err != nil {
				t.Fatal(err)
			}
			pool := openLayout(t, storeOf(db, conn), l, snowkey.Config{MaxClockSkew: 100 * time.Millisecond})
			if err := pool.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if site == 1 {
				execAll(t, conn, "DELETE FROM snowkey_lease_ns WHERE position = 0")
			}
		}
		if rows := dbtest.Rows(t, conn, "SELECT position FROM snowkey_lease_ns ORDER BY position"); strings.Join(rows, " ") != "1 2 3" {
			t.Errorf("positions %v", rows)
		}
	})
}

// Each waiter for a worker number learns that all are taken, and by whom, although
// its last attempt may have waited for a connection in vain.
func TestAllWaitersLearnThatAllAreTaken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(4)
		cfg := snowkey.Config{Layout: idgen.DefaultLayout(), MinWorker: 1, MaxWorker: 1, MaxClockSkew: 100 * time.Millisecond, Label: "the holder", Logger: slog.New(slog.DiscardHandler)}
		openLayout(t, storeOf(db, db.Connect(t)), cfg.Layout, cfg)
		store := storeOf(db, conn)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				_, err := snowkey.Open(ctx, store, cfg)
				e, ok := errors.AsType[*lease.TakenError](err)
				if !ok || len(e.Holders) != 1 || e.Holders[0] != "the holder" || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	})
}

const password = "correct-horse-battery-staple"

// failsAtOnce fails if Open tries again, or returns an error without these words
// or with a password.
func failsAtOnce(t *testing.T, db dbtest.DB, dsn, table string, words ...string) {
	t.Helper()
	conn, err := sql.Open(db.Driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	store, err := storeOf(db, conn).WithTable(table)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var log strings.Builder
	began := time.Now()
	_, err = snowkey.Open(ctx, store, snowkey.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if permanent, ok := errors.AsType[*lease.PermanentError](err); !ok || permanent.Remedy == "" || ctx.Err() != nil || time.Since(began) > 15*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in the error: %v", word, err)
		}
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), password) || strings.Contains(log.String(), password) {
		t.Error("the password is in the error or in the log")
	}
	t.Log(err)
}

func TestOpenFailsAtOnce(t *testing.T) {
	const user, table = "snowkey_nobody", "snowkey_lease"
	t.Run("postgres", func(t *testing.T) {
		db := dbtest.Durable(t, "postgres")
		conn := db.Connect(t)
		execAll(t, conn, "CREATE ROLE "+user+" LOGIN PASSWORD '"+password+"'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		as := func(change func(*url.URL)) string {
			u, err := url.Parse(db.DSN)
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword(user, password)
			change(u)
			return u.String()
		}
		failsAtOnce(t, db, as(func(*url.URL) {}), table, "permission denied", "privileges")
		failsAtOnce(t, db, as(func(u *url.URL) { u.Path = "/nowhere" }), table, "nowhere", "database")
		failsAtOnce(t, db, as(func(u *url.URL) { u.User = url.UserPassword("somebody", password) }), table, "somebody", "user")
		failsAtOnce(t, db, db.DSN, "nowhere.leases", "nowhere", "schema")
		// The server trusts everybody until it is told not to.
		hba := dbtest.Rows(t, conn, "SHOW hba_file")[0]
		text, err := os.ReadFile(hba)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hba, append([]byte("host all "+user+" all scram-sha-256\nlocal all "+user+" scram-sha-256\n"), text...), 0o600); err != nil {
			t.Fatal(err)
		}
		execAll(t, conn, "ALTER ROLE "+user+" PASSWORD 'another'", "SELECT pg_reload_conf()")
		for range 100 {
			other, err := sql.Open(db.Driver, as(func(*url.URL) {}))
			if err != nil {
				t.Fatal(err)
			}
			err = other.Ping()
			if other.Close(); err != nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		failsAtOnce(t, db, as(func(*url.URL) {}), table, "password authentication failed", "correct the user")
	})
	t.Run("mysql", func(t *testing.T) {
		db := dbtest.Durable(t, "mysql")
		conn := db.Connect(t)
		parsed, err := gomysql.ParseDSN(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		execAll(t, conn, "CREATE USER '"+user+"' IDENTIFIED BY '"+password+"'", "GRANT SELECT ON "+parsed.DBName+".* TO '"+user+"'")
		as := func(change func(*gomysql.Config)) string {
			c := parsed.Clone()
			c.User, c.Passwd = user, password
			change(c)
			return c.FormatDSN()
		}
		failsAtOnce(t, db, as(func(*gomysql.Config) {}), table, "denied", "privileges")
		failsAtOnce(t, db, as(func(c *gomysql.Config) { c.Passwd = "not " + password }), table, "denied", "password")
		failsAtOnce(t, db, as(func(c *gomysql.Config) { c.DBName = "nowhere" }), table, "nowhere", "database")
		failsAtOnce(t, db, db.DSN, "nowhere.leases", "nowhere", "database")
		c := parsed.Clone()
		c.DBName = "nowhere"
		failsAtOnce(t, db, c.FormatDSN(), table, "nowhere", "database")
	})
	t.Run("sqlite", func(t *testing.T) {
		db := dbtest.SQLite(t)
		failsAtOnce(t, db, db.DSN, "nowhere.leases", "nowhere", "database")
	})
}

// The doctor works on a standby, and says that it is one.
func TestDoctorOnAStandby(t *testing.T) {
	db := dbtest.Durable(t, "postgres")
	cfg := snowkey.Config{Layout: idgen.DefaultLayout(), Logger: slog.New(slog.DiscardHandler)}
	openLayout(t, storeOf(db, db.Connect(t)), cfg.Layout, cfg)
	standby := dbtest.StandbyOf(t, db)
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	store := storeOf(standby.DB, standby.Connect(t))
	found, err := snowkey.Doctor(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, f := range found {
		kinds[f.Kind] = true
	}
	if !kinds["read-only"] || kinds["history"] {
		t.Errorf("found %v", found)
	}
	// Nor does a pool wait there.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = snowkey.Open(ctx, store, cfg)
	if _, ok := errors.AsType[*lease.PermanentError](err); !ok || !strings.Contains(err.Error(), "primary") {
		t.Errorf("Open: %v", err)
	}
}
