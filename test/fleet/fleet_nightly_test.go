//go:build nightly

// Package fleet tests that services with a store each never make the same id if they
// share the file of a fleet, and counts the equal ids that they make without it. All
// stores are real.
package fleet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A service has a database of its own.
type service struct {
	name  string
	store lease.Store
}

// servicesOf returns n services. Each has a new database, on one server after another.
func servicesOf(t *testing.T, n int) (all []service) {
	t.Helper()
	dialects := dbtest.Databases(t)
	for i := range n {
		db := dbtest.Open(t, dialects[i%len(dialects)])
		if db.Dialect == "postgres" && !strings.Contains(db.DSN, "?") {
			db.DSN += "?sslmode=disable" // otherwise pgx connects twice
		}
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		all = append(all, service{fmt.Sprintf("service%d", i), storeOf(db.Dialect, conn)})
	}
	return all
}

func storeOf(dialect string, conn *sql.DB) lease.Store {
	switch dialect {
	case "postgres":
		return sqlstore.Postgres(conn)
	case "mysql":
		return sqlstore.MySQL(conn)
	}
	return sqlstore.SQLite(conn)
}

// fileOf returns a file that divides the 1,024 worker numbers among services.
func fileOf(all []service) string {
	var b strings.Builder
	each := 1024 / int64(len(all))
	for i, s := range all {
		fmt.Fprintf(&b, "%s %d %d\n", s.name, int64(i)*each, int64(i+1)*each-1)
	}
	if rest := int64(len(all)) * each; rest < 1024 {
		fmt.Fprintf(&b, "spare %d 1023\n", rest)
	}
	return b.String()
}

// openAll opens a pool for each service. Each has a new namespace, so that the services
// can be opened again with other settings.
func openAll(t *testing.T, all []service, namespace string, window time.Duration, cfg func(s service) snowkey.Config) []*idgen.Pool {
	t.Helper()
	pools, errs := make([]*idgen.Pool, len(all)), make([]error, len(all))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	turn := make(chan struct{}, 8) // so that a busy machine is in time for each of them
	for i, s := range all {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			cfg := cfg(s)
			cfg.Namespace, cfg.Window, cfg.MaxClockSkew, cfg.Logger = namespace, window, 200*time.Millisecond, slog.New(slog.DiscardHandler)
			pools[i], errs[i] = snowkey.Open(ctx, s.store, cfg)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, pool := range pools {
		if err := present(ctx, pool); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, pool := range pools {
			wg.Go(func() { pool.Close(context.Background()) })
		}
		wg.Wait()
	})
	return pools
}

// present waits until new ids have the present time. The first ids of a lease can be ahead
// of the clock, by another time in each store.
func present(ctx context.Context, pool *idgen.Pool) error {
	for ctx.Err() == nil {
		behind := pool.Health().Behind
		if behind == 0 {
			return nil
		}
		time.Sleep(behind)
	}
	return ctx.Err()
}

// draw draws n ids from each pool, and returns them all, in order. The pools take turns
// in drawing a few, so that all of them make ids in each millisecond. Each waits for
// pause between its turns.
func draw(t *testing.T, pools []*idgen.Pool, n, few int, pause time.Duration) []int64 {
	t.Helper()
	const threads = 2
	ids := make([]int64, n*len(pools))
	var wg sync.WaitGroup
	for thread := range threads {
		wg.Go(func() {
			for done := 0; done < n; done += few {
				began := time.Now()
				for i := thread; i < len(pools); i += threads {
					at := i*n + done
					if _, err := pools[i].Append(t.Context(), ids[at:at:at+few], few); err != nil {
						t.Error(err)
						return
					}
				}
				time.Sleep(pause - time.Since(began))
			}
		})
	}
	wg.Wait()
	slices.Sort(ids)
	return ids
}

// equal returns how many ids are equal to another one.
func equal(ids []int64) (n int) {
	for i, id := range ids {
		if id == 0 {
			panic("0 is no id")
		}
		if i > 0 && id == ids[i-1] {
			n++
		}
	}
	return n
}

// ticks returns in how many milliseconds the ids were made.
func ticks(ids []int64) (n int) {
	for i, id := range ids {
		if i == 0 || id>>22 != ids[i-1]>>22 {
			n++
		}
	}
	return n
}

// A way is how services configure their worker numbers.
type way struct {
	name string
	cfg  func(s service, file string) snowkey.Config
	safe bool // whether no two ids may be equal
}

var (
	ranges  = way{"a range for each", func(s service, file string) snowkey.Config { return snowkey.Config{Fleet: file, Service: s.name} }, true}
	nothing = way{"the zero configuration", func(service, string) snowkey.Config { return snowkey.Config{} }, false}
)

// compare draws n ids from each of some services in each way. The pools pause between two
// turns.
func compare(t *testing.T, services, n int, window, pause time.Duration, ways ...way) {
	all := servicesOf(t, services)
	file := fileOf(all)
	for _, way := range ways {
		pools := openAll(t, all, way.name, window, func(s service) snowkey.Config { return way.cfg(s, file) })
		workers := make(map[int64]bool)
		for _, pool := range pools {
			worker, _ := pool.Worker()
			workers[worker] = true
		}
		ids := draw(t, pools, n, 20, pause)
		same := equal(ids)
		t.Logf("%d stores, %s: %d ids in %d ms, %d different worker numbers, %d equal ids", services, way.name, len(ids), ticks(ids), len(workers), same)
		if way.safe && same > 0 {
			t.Errorf("%d equal ids", same)
		}
		if same > 0 && len(workers) == services {
			t.Errorf("%d different worker numbers made %d equal ids", len(workers), same)
		}
	}
}

// TestNightlyOverlap draws ids from two services whose ranges overlap, as they would without the
// check of the file. They must make equal ids, or the tests above prove nothing.
func TestNightlyOverlap(t *testing.T) {
	all := servicesOf(t, 2)
	_, err := snowkey.Open(t.Context(), all[0].store, snowkey.Config{Fleet: "service0 0 7\nservice1 7 1023\n", Service: "service0"})
	if e, ok := errors.AsType[*lease.FleetError](err); !ok || e.Service != "service1" || e.Other != "service0" {
		t.Errorf("the file is accepted: %v", err)
	}
	pools := openAll(t, all, "overlap", time.Second, func(service) snowkey.Config { return snowkey.Config{MinWorker: 7, MaxWorker: 7} })
	// In each of 200 turns, 200 of a millisecond's 4,096 ids meet 200 others: about 20 turns
	// have equal ids.
	ids := draw(t, pools, 40_000, 200, time.Millisecond)
	if same := equal(ids); same == 0 {
		t.Errorf("no equal ids among %d in %d ms", len(ids), ticks(ids))
	} else {
		t.Logf("%d of %d ids in %d ms are equal to another", same, len(ids), ticks(ids))
	}
}

// TestNightlyStores draws 10⁸ ids from 100 stores.
func TestNightlyStores(t *testing.T) { compare(t, 100, 1_000_000, 5*time.Second, 0, ranges, nothing) }

// TestNightlySameWorker draws a thousand ids a second from each of two services that lease
// the same worker number.
func TestNightlySameWorker(t *testing.T) {
	all := servicesOf(t, 2)
	pools := openAll(t, all, "same", time.Second, func(service) snowkey.Config { return snowkey.Config{MinWorker: 7, MaxWorker: 7} })
	ids := draw(t, pools, 40_000, 1, time.Millisecond)
	same := equal(ids)
	t.Logf("%d of %d ids in %d ms are equal to another", same, len(ids), ticks(ids))
	if same == 0 || same > 100 {
		t.Error("expected about 10")
	}
}
