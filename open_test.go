package snowkey_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

func TestAnHourOfRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
		pool := open(t, store, snowkey.Config{})
		worker := workerOf(t, pool)
		last := int64(0)
		for range 3600 {
			id := mustNext(t, pool)
			if id <= last {
				t.Fatalf("id %d after %d", id, last)
			}
			last = id
			time.Sleep(time.Second)
		}
		if at := layout(t).Decode(last).Time; time.Since(at) > 2*time.Second || time.Until(at) > 2*time.Second {
			t.Errorf("after an hour an id is of %v; now is %v", at, time.Now())
		}
		if n := store.Calls("Renew"); n < 1000 || n > 3600/3 {
			t.Errorf("%d renewals in an hour", n)
		}
		if n := store.Calls("Claim"); n != 1 || workerOf(t, pool) != worker {
			t.Errorf("%d claims, worker %d after %d", n, workerOf(t, pool), worker)
		}
		errtest.NoError(t, pool.Close(t.Context()))
		// The next process with this worker number should start above the last id
		// without a wait.
		again := open(t, store, snowkey.Config{MinWorker: worker, MaxWorker: worker})
		if id := mustNext(t, again); id <= last || time.Until(layout(t).Decode(id).Time) > time.Second {
			t.Errorf("the next process begins with %d (%v), after %d", id, layout(t).Decode(id).Time, last)
		}
	})
}

func TestStoreUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
		pool := open(t, store, snowkey.Config{})
		mustNext(t, pool)
		time.Sleep(20 * time.Second)
		store.Fault(func(string) kvtest.Fault { return kvtest.Hang })
		away := time.Now()
		last := int64(0)
		for {
			id, err := next(t, pool)
			if err != nil {
				stopped := time.Since(away)
				var cause *lease.StoreError
				if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &cause) {
					t.Errorf("without the store: %v", err)
				}
				if stopped < 6*time.Second || stopped > 15*time.Second {
					t.Errorf("ids stopped after %v", stopped)
				}
				break
			}
			last = id
			time.Sleep(100 * time.Millisecond)
		}
		if h := pool.Health(); h.State != idgen.Unleased || h.Reason == nil {
			t.Errorf("health %+v", h)
		}
		store.Fault(nil)
		back := time.Now()
		id, err := pool.Next(t.Context())
		if err != nil || id <= last {
			t.Fatalf("after the store is back: %d after %d, %v", id, last, err)
		}
		if d := time.Since(back); d > 5*time.Second {
			t.Errorf("ids flow again after %v", d)
		}
		time.Sleep(5 * time.Second)
		if h := pool.Health(); h.State != idgen.Serving || h.Reason != nil {
			t.Errorf("health %+v", h)
		}
	})
}

// A store that is slow, or loses requests and replies, should neither delay ids nor cost us
// the lease, as long as it answers within a quarter of the window most of the time.
func TestSlowAndFaultyStores(t *testing.T) {
	for _, tt := range []struct {
		slow  time.Duration // how long each call takes
		fault kvtest.Fault  // of every third call, if it is a renewal
	}{
		{slow: 100 * time.Millisecond}, {slow: time.Second}, {slow: 2400 * time.Millisecond},
		{fault: kvtest.Refuse}, {fault: kvtest.LoseReply}, {fault: kvtest.Hang}, {fault: kvtest.HangAfter}, {fault: kvtest.Late},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &kvtest.Memory{}
				pool := open(t, store, snowkey.Config{})
				calls := 0
				store.Fault(func(op string) kvtest.Fault {
					time.Sleep(tt.slow)
					if calls++; op == "Renew" && calls%3 == 0 {
						return tt.fault
					}
					return kvtest.None
				})
				last := int64(0)
				for i := range 6000 {
					began := time.Now()
					id := mustNext(t, pool)
					if id <= last || time.Since(began) > 10*time.Millisecond {
						t.Fatalf("id %d after %d, in %v", id, last, time.Since(began))
					}
					last = id
					if i%70 == 0 {
						store.Deliver()
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := store.Calls("Claim"); n != 1 {
					t.Errorf("%d claims", n)
				}
			})
		})
	}
}

// If the reply to a claim is lost, Open should be delayed by a few seconds, but not
// until the lost lease has expired.
func TestLostClaims(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		for _, fault := range []kvtest.Fault{kvtest.Refuse, kvtest.LoseReply, kvtest.Hang, kvtest.HangAfter, kvtest.Late} {
			t.Run(fmt.Sprintf("%v, volatile %v", fault, volatile), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &kvtest.Memory{}
					store.SetVolatile(volatile)
					cfg := snowkey.Config{MinWorker: 15, MaxWorker: 15}
					open(t, store, cfg).Close(t.Context()) // to create the namespace
					burnt, away := make(chan int64, 1), false
					store.Fault(func(op string) kvtest.Fault {
						switch {
						case op == "Claim" && !away:
							away = true
							time.AfterFunc(5*time.Second, func() {
								store.Fault(nil)
								rows, _ := store.Rows(t.Context(), terms(t), 15, 15)
								burnt <- rows[0].Bound
							})
							return fault
						case away: // the network is cut, so we can't read the row either
							return kvtest.Hang
						}
						return kvtest.None
					})
					start := time.Now()
					pool := open(t, store, cfg)
					id := mustNext(t, pool)
					took := time.Since(start)
					// With a volatile store, a claim also skips a window and the skew.
					limit := 8 * time.Second // 5 s until the hanging read times out, plus a pause
					if volatile {
						limit += 13 * time.Second
					}
					if took > limit {
						t.Errorf("the first id after %v", took)
					}
					applied := fault == kvtest.LoseReply || fault == kvtest.HangAfter
					if claims := store.Calls("Claim"); applied && claims != 2 || !applied && claims != 3 {
						t.Errorf("%d claims", claims)
					}
					store.Deliver()
					if counter, bound := id>>16<<12|id&4095, <-burnt; applied && volatile && counter < bound {
						t.Errorf("counter %d was issued below %d, which the claim burnt", counter, bound)
					}
					for range 60 {
						again := mustNext(t, pool)
						if again <= id {
							t.Fatalf("id %d after %d", again, id)
						}
						id = again
						time.Sleep(time.Second)
					}
				})
			})
		}
	}
}

// A late claim shouldn't leave us with a worker number that is taken but has no holder.
// To prevent that, the process claims the same row again, even if other rows are free.
func TestLateClaims(t *testing.T) {
	for range 10 { // repeat this, because a claim takes one of the free rows at random
		synctest.Test(t, func(t *testing.T) {
			store := &kvtest.Memory{}
			var pools []*idgen.Pool
			for range 16 {
				pools = append(pools, open(t, store, snowkey.Config{}))
			}
			for _, p := range pools {
				p.Close(t.Context())
			}
			late := 3 // how many claims are still to be late
			store.Fault(func(op string) kvtest.Fault {
				if op == "Claim" && late > 0 {
					late--
					return kvtest.Late
				}
				return kvtest.None
			})
			pool := open(t, store, snowkey.Config{})
			store.Deliver()
			rows, err := store.Rows(t.Context(), terms(t), 0, 15)
			if err != nil || len(rows) != 16 {
				t.Fatal(rows, err)
			}
			for _, r := range rows {
				if leased := r.Token != ""; leased != (r.Worker == workerOf(t, pool)) {
					t.Errorf("the pool has worker %d, and the row of %d is %+v", workerOf(t, pool), r.Worker, r)
				}
			}
			time.Sleep(time.Minute)
			mustNext(t, pool)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
		open(t, store, snowkey.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		_, err := snowkey.Open(ctx, store, snowkey.Config{Layout: idgen.JSSafe()})
		if err == nil {
			t.Error("a layout whose epoch is to come was taken")
		}
		other := errtest.Must(layout(t).WithEpoch(time.Date(1999, 1, 2, 0, 0, 0, 0, time.UTC)))(t)
		_, err = snowkey.Open(ctx, store, snowkey.Config{Layout: other})
		if e, ok := errors.AsType[*lease.LayoutError](err); !ok || e.Mine != other.String() || e.Stored != layout(t).String() {
			t.Errorf("another layout: %v", err)
		}
		_, err = snowkey.Open(ctx, store, snowkey.Config{Layout: layout(t), Clock: func() time.Time { return time.Now().Add(3 * time.Second) }})
		if e, ok := errors.AsType[*lease.ClockSkewError](err); !ok || e.Host.Sub(e.Store).Round(time.Millisecond) != 3*time.Second {
			t.Errorf("a clock 3 s ahead: %v", err)
		}
		for _, cfg := range []snowkey.Config{
			{Window: time.Millisecond}, {Window: time.Minute, TTL: time.Second}, {MinWorker: 3, MaxWorker: 2}, {MaxWorker: 16}, {MaxClockSkew: -1},
			{Namespace: "orders "}, {Namespace: "a\x00b"}, {Label: "\xff"},
			{Namespace: "a name that is longer than the sixty-four bytes which it is allowed to have"},
		} {
			cfg.Layout = layout(t)
			if _, err := snowkey.Open(ctx, store, cfg); err == nil {
				t.Errorf("%+v was taken", cfg)
			} else if !strings.HasPrefix(err.Error(), "snowkey: Config.") {
				t.Errorf("%v does not name the field", err)
			}
		}
		if ctx.Err() != nil {
			t.Error("errors that time does not mend were waited for")
		}
	})
}

func TestPreferSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
		cfg := func(label string) snowkey.Config { return snowkey.Config{Label: label, PreferSame: true} }
		a, b := open(t, store, cfg("a")), open(t, store, cfg("b"))
		worker := workerOf(t, a)
		for range 5 {
			a.Close(t.Context())
			b.Close(t.Context())
			b, a = open(t, store, cfg("b")), open(t, store, cfg("a"))
			if workerOf(t, a) != worker {
				t.Fatalf("a has worker %d; it had %d", workerOf(t, a), worker)
			}
		}
	})
}

// The default label stays the same after a restart. It includes the port, so that we
// can tell two servers on one host apart.
func TestDefaultLabel(t *testing.T) {
	labels := map[string]string{}
	for _, port := range []string{"8080", "8081", "8080"} {
		t.Setenv("PORT", port)
		synctest.Test(t, func(t *testing.T) {
			store := &kvtest.Memory{}
			pool := open(t, store, snowkey.Config{})
			rows := errtest.Must(store.Rows(t.Context(), terms(t), workerOf(t, pool), workerOf(t, pool)))(t)
			label := rows[0].Label
			if before, ok := labels[port]; !strings.Contains(label, ":"+port) || ok && label != before {
				t.Errorf("the label was %q and is %q", before, label)
			}
			labels[port] = label
		})
	}
}

// Tests that no id is issued after the worker number was released.
func TestCloseWhileCallsAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
		pool := open(t, store, snowkey.Config{MinWorker: 1, MaxWorker: 1})
		mustNext(t, pool)
		var mu sync.Mutex
		seen := map[int64]bool{}
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for {
					id, err := pool.Next(t.Context())
					if err != nil {
						if !errors.Is(err, idgen.ErrClosed) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					seen[id] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		errtest.NoError(t, pool.Close(t.Context()))
		heir := open(t, store, snowkey.Config{MinWorker: 1, MaxWorker: 1})
		wg.Wait()
		for range 10_000 {
			id := errtest.Must(heir.Next(t.Context()))(t)
			if seen[id] {
				t.Fatalf("id %d was issued by both", id)
			}
		}
	})
}

// A copy of a process with a suspended pool must not issue ids of the former lease.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
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
		store := &kvtest.Memory{}
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
}
