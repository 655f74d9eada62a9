package snowkey_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// lostTables runs pools that continuously take ids, and repeatedly removes the tables
// or files that contain their leases. All pools must be able to issue ids again, and
// all ids must be unique.
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
	rounds := 1
	if dbtest.Nightly {
		rounds = 3
	}
	for range rounds {
		time.Sleep(500 * time.Millisecond)
		mu.Lock()
		remove()
		removed := time.Now()
		mu.Unlock()
		// By now, all ids that were granted have been used up.
		time.Sleep(1500 * time.Millisecond)
		for i, pool := range pools {
			once, done := context.WithTimeout(ctx, time.Minute)
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
		if len(drawn[i]) < 100 {
			t.Errorf("pool %d drew %d ids", i, len(drawn[i]))
		}
	}
}

func TestTablesAreDropped(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		var stores []lease.Store
		for range 3 {
			stores = append(stores, storeOf(db, db.Connect(t)))
		}
		conn := db.Connect(t)
		lostTables(t, stores, func() { execAll(t, conn, "DROP TABLE snowkey_lease", "DROP TABLE snowkey_lease_ns") })
	})
}

func TestDirectoryIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "leases")
	lostTables(t, []lease.Store{filestore.Dir(dir), filestore.Dir(dir), filestore.Dir(dir)}, func() {
		for os.RemoveAll(dir) != nil { // a process may be writing to it
		}
	})
}

// With SkipMigrate, the error must say what to do, and the pool must continue once the
// tables exist.
func TestTablesAreDroppedAndSkipMigrate(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		store := storeOf(db, conn)
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		pool := openLayout(t, store, idgen.DefaultLayout(), snowkey.Config{MaxWorker: 1, Window: time.Second, MaxClockSkew: 200 * time.Millisecond, SkipMigrate: true})
		before := mustNext(t, pool)
		execAll(t, conn, "DROP TABLE snowkey_lease", "DROP TABLE snowkey_lease_ns")
		// Ids are issued until they reach the bound. Then a call waits, and its error has the reason.
		var err error
		for began := time.Now(); !errors.Is(err, lease.ErrNotMigrated) && time.Since(began) < time.Minute; {
			_, err = next(t, pool)
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
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if id, err := pool.Next(ctx); err != nil || id <= before {
			t.Errorf("after the migration: %d after %d, %v", id, before, err)
		}
	})
}
