package segmentstore_test

import (
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// fleet makes processes draw 160 numbers each for the same name, and returns the numbers
// in order.
func fleet(t *testing.T, store segment.Store, processes int) []int64 {
	t.Helper()
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for range processes {
		s, err := segment.New(store, segment.Config{
			Name: "fleet", MinValue: base, MinStep: 10, MaxStep: 40, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			var mine []int64
			for len(mine) < 160 {
				id, err := s.Next(t.Context())
				if err == nil {
					mine, err = s.Append(t.Context(), append(mine, id), 15)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if !slices.IsSorted(mine) {
				t.Error("the numbers of one process do not ascend")
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	if unique := len(slices.Compact(slices.Clone(all))); unique != len(all) {
		t.Errorf("%d of %d numbers are unique", unique, len(all))
	}
	if len(all) < processes*160 {
		t.Fatalf("%d numbers of %d processes", len(all), processes)
	}
	return all
}

// bound returns where the fleet's numbers end.
func bound(t *testing.T, conn *sql.DB) (bound int64) {
	t.Helper()
	if err := conn.QueryRow("SELECT bound FROM fleet WHERE name = 'fleet'").Scan(&bound); err != nil {
		t.Fatal(err)
	}
	return bound
}

// checkFleet draws numbers, and checks that only a few are skipped. These are the
// numbers that a process has fetched but not drawn.
func checkFleet(t *testing.T, db dbtest.DB, conn *sql.DB) {
	t.Helper()
	t.Run("64 processes", func(t *testing.T) {
		all := fleet(t, open(t, db, conn, "fleet"), 64)
		if skipped := bound(t, db.Connect(t)) - base - int64(len(all)); skipped < 0 || skipped > 64*200 {
			t.Errorf("%d numbers were skipped", skipped)
		}
	})
}

// Replies get lost while processes draw numbers. There must be no errors and no
// duplicates.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, direct dbtest.DB) {
		t.Parallel()
		conn := direct.Connect(t)
		open(t, direct, conn, "fleet")
		db, proxy := direct.Through(t)
		lossy := db.Connect(t)
		lossy.SetMaxIdleConns(64)
		store := open(t, db, lossy, "fleet")
		done, lost := make(chan struct{}), 0
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-proxy.LoseReply(7):
					lost++
				case <-done:
					return
				}
			}
		})
		processes := 8 // a lost reply costs a connection, and Postgres takes long to make one
		if dbtest.Nightly {
			processes = 64
		}
		all := fleet(t, store, processes)
		close(done)
		wg.Wait()
		t.Logf("%d replies lost, %d of %d numbers drawn", lost, len(all), bound(t, conn)-base)
		if lost < 5 {
			t.Errorf("only %d replies were lost", lost)
		}
	})
}
