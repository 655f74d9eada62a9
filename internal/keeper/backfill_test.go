package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

// reserve reserves a worker number. The recorder gets the grant that the backfill amounts to.
func reserve(t *testing.T, m lease.Store, cfg keeper.Config, name string) (*recorder, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	worker, bound, err := keeper.ReserveBackfill(ctx, m, cfg, name)
	if err != nil {
		return nil, err
	}
	r := &recorder{}
	r.Grant(worker, 0, bound)
	return r, nil
}

func mustReserve(t *testing.T, m lease.Store, cfg keeper.Config, name string) (*recorder, int64) {
	t.Helper()
	r, err := reserve(t, m, cfg, name)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := r.last()
	return r, g.worker
}

func refused(t *testing.T, m lease.Store, cfg keeper.Config, name, reason string) {
	t.Helper()
	r, err := reserve(t, m, cfg, name)
	if _, ok := errors.AsType[*lease.PermanentError](err); !ok || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %+v, %v; want %q", r, err, reason)
	}
}

// Processes that start before and after a backfill never have its worker number, and no
// grant overlaps with it.
func TestBackfillBesideProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(0, 3)
		_, before := openKeeper(t, m, cfg)
		orders, first := mustReserve(t, m, cfg, "orders")
		users, second := mustReserve(t, m, cfg, "users")
		_, again := mustReserve(t, m, cfg, "orders")
		if first == second || again != first {
			t.Errorf("worker numbers %d and %d, and %d again", first, second, again)
		}
		time.Sleep(time.Hour)
		all := []*recorder{before, orders, users}
		for range 20 {
			k, r := openKeeper(t, m, cfg)
			all = append(all, r)
			if g, _ := r.last(); g.worker == first || g.worker == second {
				t.Fatalf("a process has worker number %d of a backfill", g.worker)
			}
			k.Close(t.Context())
		}
		disjoint(t, all...)
		refused(t, m, cfg, "third", "processes have leased each of the worker numbers")
	})
}

// A backfill can be the first user of a namespace, of a range of numbers, and of a number
// without a row.
func TestBackfillPreparesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &kvtest.Memory{}
		if _, worker := mustReserve(t, m, config(7, 7), "orders"); worker != 7 {
			t.Errorf("worker number %d is outside the range", worker)
		}
		_, process := openKeeper(t, m, config(12, 12))
		users, worker := mustReserve(t, m, config(11, 12), "users")
		if worker != 11 {
			t.Errorf("worker number %d is in use", worker)
		}
		if _, worker := mustReserve(t, m, config(12, 15), "items"); worker == 12 {
			t.Error("worker number 12 is in use")
		}
		disjoint(t, process, users)
	})
}

// A number that a process has held is never reserved, even if its row is free again.
func TestBackfillOfAHeldNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(0, 3)
		seen := map[int64]bool{}
		for len(seen) < 3 {
			k, r := openKeeper(t, m, cfg)
			g, _ := r.last()
			seen[g.worker] = true
			k.Close(t.Context())
			time.Sleep(time.Minute)
		}
		if _, worker := mustReserve(t, m, cfg, "orders"); seen[worker] {
			t.Errorf("worker number %d was held", worker)
		}
	})
}

// If commits were lost, so may be the lease of a number whose row is as good as new.
func TestBackfillAfterLostCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(0, 3)
		k, _ := openKeeper(t, m, cfg)
		k.Close(t.Context())
		before := m.Snapshot()
		_, orders := mustReserve(t, m, cfg, "orders")
		reserved := m.Snapshot()
		for range 2 {
			openKeeper(t, m, cfg)
		}
		m.Restore(before)
		m.SetCurrent("promoted")
		refused(t, m, cfg, "users", "commits may have been lost")
		m.SetCurrent("")

		m.Restore(reserved)
		m.SetCurrent("promoted")
		if _, again := mustReserve(t, m, cfg, "orders"); again != orders {
			t.Errorf("the import can't be repeated: its number is %d, was %d", again, orders)
		}
		refused(t, m, cfg, "users", "commits may have been lost")
	})
}

func TestBackfillOnAVolatileStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(0, 3)
		m.SetVolatile(true)
		refused(t, m, cfg, "orders", "the store may lose commits")
		m.SetVolatile(false)
		mustReserve(t, m, cfg, "orders")
		m.SetVolatile(true)
		refused(t, m, cfg, "orders", "the store may lose commits")
	})
}

// If the reply to the reservation is lost, a read of the row shows it, but a crash may undo
// it. So the bound must come from the reply to a write.
func TestBackfillThatIsForgotten(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.LoseReply, kvtest.HangAfter} {
		synctest.Test(t, func(t *testing.T) {
			m, cfg := &kvtest.Memory{}, config(3, 3)
			k, _ := openKeeper(t, m, config(0, 2))
			k.Close(t.Context())
			m.AddRows(t.Context(), cfg.Terms, 3, 3)
			time.Sleep(time.Minute)
			before, crashed := m.Snapshot(), false
			m.Fault(once("Claim", fault, kvtest.None))
			store := after(m, func(op string) {
				if op == "Rows" && m.Calls("Claim") > 1 && !crashed {
					crashed = true
					m.Restore(before)
				}
			})
			backfill, _ := mustReserve(t, store, cfg, "orders")
			if !crashed {
				t.Fatal("the reservation was not read")
			}
			if rows, err := m.Rows(t.Context(), cfg.Terms, 3, 3); err != nil || rows[0].Token == "" {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				process := &recorder{}
				if k, err := keeper.Open(ctx, m, process, cfg); err == nil {
					k.Close(t.Context())
				}
				disjoint(t, backfill, process)
				t.Errorf("the number is not reserved: %+v, %v", rows, err)
			}
		})
	}
}

// Another layout of the namespace may be compatible from now on, but not in the past.
func TestBackfillOfAnotherLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(0, 3)
		openKeeper(t, m, cfg)
		cfg.Layout = "seconds"
		cfg.Compatible = func(_ string, from time.Time) error {
			if from.IsZero() {
				return errors.New("equal in the past")
			}
			return nil
		}
		_, err := reserve(t, m, cfg, "orders")
		if _, ok := errors.AsType[*lease.LayoutError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}

func TestNameOfABackfill(t *testing.T) {
	for _, name := range []string{"", "a.b", "ü", "a b", strings.Repeat("x", 49)} {
		if _, err := reserve(t, &kvtest.Memory{}, config(0, 3), name); err == nil || !strings.Contains(err.Error(), "letters") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
