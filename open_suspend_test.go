package snowkey_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// A copy of a process with a suspended pool must not issue ids of the former lease.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leasetest.Memory{}
		cfg := snowkey.Config{MinWorker: 15, MaxWorker: 15}
		pool := open(t, store, cfg)
		last := mustNext(t, pool)
		for range 2 { // the second call must do nothing
			errtest.NoError(t, pool.Suspend(t.Context()))
		}
		rows, err := store.Rows(t.Context(), terms(t), 15, 15)
		if err != nil || len(rows) != 1 || rows[0].Token != "" || rows[0].Bound != last>>16<<12|last&4095+1 {
			t.Errorf("after id %d the row is %+v, %v", last, rows, err)
		}
		if _, err := next(t, pool); !errors.Is(err, lease.ErrSuspended) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an id of a suspended pool: %v", err)
		}
		if h := pool.Health(); h.State != idgen.Unleased || !errors.Is(h.Reason, lease.ErrSuspended) {
			t.Errorf("health %+v", h)
		}
		renewals := store.Calls("Renew")
		time.Sleep(time.Hour)
		if n := store.Calls("Renew"); n != renewals {
			t.Errorf("%d renewals while suspended", n-renewals)
		}

		// One of two copies gets the worker number, so the other has to wait for it.
		copied := open(t, store, cfg)
		between := mustNext(t, copied)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := pool.Resume(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("resumed while another has the worker: %v", err)
		} else if _, ok := errors.AsType[*lease.TakenError](err); !ok {
			t.Errorf("resumed while another has the worker: %v", err)
		}
		waiting := make(chan error)
		go func() {
			id, err := pool.Next(t.Context())
			if id <= between {
				err = errors.Join(err, fmt.Errorf("%d after %d", id, between))
			}
			waiting <- err
		}()
		synctest.Wait()
		errtest.NoError(t, copied.Close(t.Context()))
		errtest.NoError(t, pool.Resume(t.Context()))
		errtest.NoError(t, <-waiting)
		if err := pool.Resume(t.Context()); err != nil {
			t.Errorf("resumed twice: %v", err)
		}
		time.Sleep(time.Minute)
		if mustNext(t, pool) <= between {
			t.Error("ids do not ascend across a suspension")
		}
	})
}

// Close should end a Resume that is still waiting.
func TestCloseWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leasetest.Memory{}
		cfg := snowkey.Config{MinWorker: 15, MaxWorker: 15}
		pool := open(t, store, cfg)
		errtest.NoError(t, pool.Suspend(t.Context()))
		open(t, store, cfg)
		resumed := make(chan error)
		go func() { resumed <- pool.Resume(t.Context()) }()
		time.Sleep(time.Minute)
		errtest.NoError(t, pool.Close(t.Context()))
		if err := <-resumed; err == nil {
			t.Error("resumed after Close")
		}
		for _, call := range []func(context.Context) error{pool.Suspend, pool.Resume} {
			if err := call(t.Context()); !errors.Is(err, idgen.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
		if _, err := next(t, pool); !errors.Is(err, idgen.ErrClosed) {
			t.Errorf("an id after Close: %v", err)
		}
	})
	own := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(3), Layout: layout(t)}))(t)
	defer own.Close(t.Context())
	for _, pool := range []*idgen.Pool{own, nil} {
		want := idgen.ErrNotLeased
		if pool == nil {
			want = idgen.ErrNoPool
		}
		if err := pool.Suspend(t.Context()); !errors.Is(err, want) {
			t.Errorf("suspend: %v, want %v", err, want)
		}
		if err := pool.Resume(t.Context()); !errors.Is(err, want) {
			t.Errorf("resume: %v, want %v", err, want)
		}
	}
}
