package snowkey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// The ids of a backfill end where those of a process may begin, in any layout. The worker
// number is shown as reserved, and the doctor has nothing against it.
func TestOpenBackfill(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Minute} {
		t.Run(unit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				layout := errtest.Must(idgen.NewLayout(time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC), unit, idgen.Time(41), idgen.Worker(4), idgen.Sequence(12)))(t)
				store, cfg := &kvtest.Memory{}, snowkey.Config{Layout: layout}
				pool := openLayout(t, store, layout, cfg)
				past := errtest.Must(snowkey.OpenBackfill(ctx, store, cfg, "orders"))(t)
				end := past.Config().End
				if worker := past.Config().Worker; worker == workerOf(t, pool) || end.Before(time.Now()) || end.After(time.Now().Add(12*time.Second+2*unit)) {
					t.Errorf("the backfill has worker number %d until %v", worker, end)
				}
				if _, err := past.At("orders", []time.Time{time.Now().AddDate(-1, 0, 0), time.Now()}); err != nil {
					t.Error(err)
				}
				if _, err := past.At("orders", []time.Time{end}); err == nil {
					t.Errorf("an id at %v", end)
				}
				again, err := snowkey.OpenBackfill(ctx, store, cfg, "orders")
				if err != nil || again.Config().Worker != past.Config().Worker || again.Config().End.Before(end) {
					t.Errorf("again: %+v, %v", again.Config(), err)
				}
				time.Sleep(time.Minute)
				findings, err := snowkey.Doctor(ctx, store, cfg)
				if err != nil || len(findings) > 0 {
					t.Errorf("%v, %v", findings, err)
				}
				workers, err := keeper.Workers(ctx, store, "default", false)
				if err != nil || len(workers) != 2 || workers[0].Label != "backfill:orders" && workers[1].Label != "backfill:orders" {
					t.Errorf("%+v, %v", workers, err)
				}
			})
		})
	}
}

func TestOpenBackfillRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := snowkey.OpenBackfill(t.Context(), &kvtest.Memory{}, snowkey.Config{Window: 1}, "orders"); err == nil {
			t.Error("a Window of 1 ns is accepted")
		}
		store := &kvtest.Memory{}
		store.Fault(func(string) kvtest.Fault { return kvtest.Hang })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := snowkey.OpenBackfill(ctx, store, snowkey.Config{}, "orders"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// Rows of a filestore begin below the fence of their namespace. Fence shows that commits may
// have been lost.
func TestBackfillInFiles(t *testing.T) {
	store, cfg := filestore.Dir(t.TempDir()), snowkey.Config{} // the first rows are claimed within MaxClockSkew
	for _, name := range []string{"orders", "users", "orders"} {
		errtest.Must(snowkey.OpenBackfill(t.Context(), store, cfg, name))(t)
	}
	errtest.NoError(t, openLayout(t, store, idgen.DefaultLayout(), cfg).Close(t.Context()))
	errtest.Must(snowkey.OpenBackfill(t.Context(), store, cfg, "items"))(t)
	errtest.NoError(t, snowkey.Fence(t.Context(), store, cfg))
	errtest.Must(snowkey.OpenBackfill(t.Context(), store, cfg, "orders"))(t)
	_, err := snowkey.OpenBackfill(t.Context(), store, cfg, "lines")
	if _, ok := errors.AsType[*lease.PermanentError](err); !ok || !strings.Contains(err.Error(), "commits may have been lost") {
		t.Errorf("after Fence: %v", err)
	}
}
