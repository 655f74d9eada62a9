package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// If the reply to a claim is lost, the claim must not grant anything before a renewal
// is answered, even though a read of the row shows it.
func TestClaimThatIsForgotten(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.LoseReply, kvtest.HangAfter} {
		t.Run(fmt.Sprint("fault ", fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, cfg := &kvtest.Memory{}, config(3, 3)
				first, _ := openKeeper(t, m, cfg)
				first.Close(t.Context())
				time.Sleep(time.Minute)
				before := m.Snapshot()
				claims := once("Claim", fault, kvtest.None)
				m.Fault(func(op string) kvtest.Fault {
					if op == "Renew" {
						return kvtest.Hang
					}
					return claims(op)
				})
				r, opened := &recorder{}, make(chan error, 1)
				go func() {
					k, err := keeper.Open(t.Context(), m, r, cfg)
					if err == nil {
						t.Cleanup(func() { k.Close(context.Background()) })
					}
					opened <- err
				}()
				time.Sleep(8 * time.Second)
				if g, n := r.last(); n != 1 || g.bound > g.start {
					t.Fatalf("%d grants, the last is %+v", n, g)
				}
				m.Restore(before)
				m.Fault(nil)
				errtest.NoError(t, <-opened)
				time.Sleep(30 * time.Second)
				disjoint(t, r)
				if g, _ := r.last(); g.bound <= g.start {
					t.Errorf("nothing is granted: %+v", g)
				}
			})
		})
	}
}

// A process that adds the rows of a new namespace may fail while others wait for it. The rows
// must exist before the namespace does, because a row that is added later can't be used
// before the next tick, which can be tomorrow.
func TestRowsThatAnotherProcessFailedToAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, began := config(0, 15), time.Now()
		cfg.Unit, cfg.PerTick = (24 * time.Hour).Microseconds(), 1<<32
		fails := once("AddRows", kvtest.LoseReply, kvtest.None)
		store := &hooked{Memory: &kvtest.Memory{}, hook: func(_ context.Context, op string) error {
			if fails(op) != kvtest.None {
				return errNoEffect
			}
			return nil
		}}
		k, err := keeper.Open(t.Context(), store, &recorder{}, cfg)
		errtest.NoError(t, err)
		defer k.Close(t.Context())
		if waited := time.Since(began); waited > time.Minute {
			t.Errorf("the first ids came after %v", waited)
		}
	})
}

// Whatever state the store is in, Open should claim a row within a few calls, or else
// return the reason why it can't.
func TestCallsOfAClaim(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		for _, harm := range []struct {
			taken       bool  // whether all rows are leased
			namespace   bool  // whether the namespace is lost
			fingerprint bool  // whether it is another database
			rows        int64 // how many rows are lost
		}{
			{namespace: true, rows: 16}, {namespace: true}, {fingerprint: true}, {rows: 16}, {namespace: true, fingerprint: true}, {taken: true}, {taken: true, rows: 1},
		} {
			t.Run(fmt.Sprintf("%+v, coarse %v", harm, coarse), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, cfg := &kvtest.Memory{}, config(0, 15)
					if coarse {
						cfg.Unit, cfg.PerTick = time.Hour.Microseconds(), 1<<20
					}
					k, _ := openKeeper(t, m, cfg)
					k.Close(t.Context())
					if harm.taken {
						for range 16 {
							openKeeper(t, m, cfg)
						}
					}
					if harm.namespace {
						m.DeleteNamespace(t.Context(), cfg.Terms)
					}
					if harm.fingerprint {
						m.SetCurrent("promoted")
					}
					for worker := range harm.rows {
						m.Delete(t.Context(), cfg.Terms, worker)
					}
					time.Sleep(time.Millisecond)
					var calls atomic.Int64
					m.Fault(func(string) kvtest.Fault { calls.Add(1); return kvtest.None })
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					k, err := keeper.Open(ctx, m, &recorder{}, cfg)
					m.Fault(nil)
					_, taken := errors.AsType[*lease.TakenError](err)
					_, held := errors.AsType[*lease.HoldOffError](err)
					switch {
					case err == nil:
						k.Close(t.Context())
					case harm.taken && harm.rows == 0 && taken, coarse && held:
					default:
						t.Error(err)
					}
					if n := calls.Load(); n > 20 {
						t.Errorf("Open took %d calls", n)
					}
				})
			})
		}
	}
}

// Even if a store doesn't do what it's asked to, the keeper must not keep calling it
// without a pause.
func TestCallsOfAnUselessStore(t *testing.T) {
	ops := []string{"Migrate", "CreateNamespace", "Fence", "AddRows", "Claim", "Renew", "Rows", "Layouts"}
	for _, coarse := range []bool{false, true} {
		for _, name := range append(ops, "tables", "fingerprint", "random", "random errors") {
			t.Run(fmt.Sprintf("%s, coarse %v", name, coarse), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, cfg := &kvtest.Memory{}, config(0, 15)
					if coarse {
						cfg.Unit, cfg.PerTick = time.Hour.Microseconds(), 1<<20
					}
					if name == "Fence" {
						openKeeper(t, m, cfg)
						m.SetCurrent("promoted")
						time.Sleep(time.Millisecond)
					}
					if name == "Rows" {
						for range 16 {
							openKeeper(t, m, cfg)
						}
						time.Sleep(time.Millisecond)
					}
					var calls atomic.Int64
					store := &hooked{Memory: m, hook: func(ctx context.Context, op string) error {
						n := calls.Add(1)
						switch {
						case op == name:
							return errNoEffect
						case name == "tables" && (op == "Probe" || op == "Claim" || op == "Rows"):
							return lease.ErrNotMigrated
						case name == "fingerprint" && op == "Probe":
							m.SetCurrent(fmt.Sprint("promoted ", n))
						case strings.HasPrefix(name, "random") && rand.IntN(2) == 0:
							return []error{errNoEffect, lease.ErrNotMigrated, kvtest.ErrFault}[rand.IntN(3)]
						}
						return nil
					}}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					k, err := keeper.Open(ctx, store, &recorder{}, cfg)
					if err == nil {
						time.Sleep(20 * time.Second)
						k.Close(t.Context())
					}
					if n := calls.Load(); n > 1000 { // it never ends if there is no pause
						t.Errorf("%d calls in 20 s", n)
					}
				})
			})
		}
	}
}

// Open should return the store's last answer, even if later attempts were not answered.
func TestOpenReturnsTheLastAnswer(t *testing.T) {
	for _, op := range []string{"taken", "Probe", "Layouts", "Claim", "Renew"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := errors.New("disk full")
				away, patience := 5*time.Second, 23*time.Second
				began := time.Now()
				store := &hooked{Memory: &kvtest.Memory{}, hook: func(ctx context.Context, called string) error {
					switch {
					case time.Since(began) > away:
						return hangs(ctx)
					case called == op:
						return answer
					}
					return nil
				}}
				switch op {
				case "taken":
					openKeeper(t, store.Memory, config(3, 3))
				case "Renew": // before the first id, because the claim grants nothing
					store.SetVolatile(true)
					away, patience = time.Hour, 8*time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, err := keeper.Open(ctx, store, &recorder{}, config(3, 3))
				_, taken := errors.AsType[*lease.TakenError](err)
				if taken != (op == "taken") || !taken && !errors.Is(err, answer) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// While a lease waits for the renewal that confirms its claim, the error should say so.
func TestUnconfirmedClaimIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &kvtest.Memory{}
		openKeeper(t, store, config(3, 3)) // the namespace and its rows exist
		store.Fault(func(op string) kvtest.Fault {
			switch op {
			case "Claim":
				return kvtest.LoseReply
			case "Renew":
				return kvtest.Refuse
			}
			return kvtest.None
		})
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		_, err := keeper.Open(ctx, store, &recorder{}, config(4, 4))
		if e, ok := errors.AsType[*lease.HoldOffError](err); !ok || !e.Unconfirmed {
			t.Errorf("got %v", err)
		}
	})
}

// If a retry can't help, Open should return the error immediately.
func TestPermanentErrorsEndOpen(t *testing.T) {
	for _, op := range []string{"Probe", "Layouts", "CreateNamespace", "AddRows", "Claim"} {
		for name, permanent := range map[string]error{
			"privilege": &lease.PermanentError{Err: errors.New("permission denied"), Remedy: "grant it"},
			"version":   &lease.VersionError{Where: "the table leases", Found: "9"},
		} {
			t.Run(op+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					store := &hooked{Memory: &kvtest.Memory{}, hook: func(_ context.Context, called string) error {
						if called == op {
							calls++
							return fmt.Errorf("store: %w", permanent)
						}
						return nil
					}}
					began := time.Now()
					_, err := keeper.Open(t.Context(), store, &recorder{}, config(3, 3))
					if !errors.Is(err, permanent) || calls != 1 || time.Since(began) > 300*time.Millisecond { // for the pauses before a namespace is created
						t.Errorf("after %v and %d calls: %v", time.Since(began), calls, err)
					}
				})
			})
		}
	}
}

// The reason for having no lease should be logged only when it changes.
func TestReasonsAreLoggedWhenTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, op := range []string{"Probe", "Claim"} {
			began := time.Now()
			store := &hooked{Memory: &kvtest.Memory{}, hook: func(_ context.Context, called string) error {
				if called != op {
					return nil
				}
				return [...]error{errors.New("no route"), errors.New("too many clients"), errors.New("no route")}[min(2, time.Since(began)/(10*time.Second))]
			}}
			var log strings.Builder
			cfg := config(3, 3)
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			keeper.Open(ctx, store, &recorder{}, cfg)
			if n, m := strings.Count(log.String(), "no route"), strings.Count(log.String(), "too many clients"); n != 2 || m != 1 {
				t.Errorf("%s: %d and %d lines:\n%s", op, n, m, log.String())
			}
		}
	})
}

// While all worker numbers are in use, waiting processes should make only a few calls,
// but still take a worker number soon after it's released.
func TestWaitersMakeFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(0, 3)
		var holders []leased.Keeper
		for range 4 {
			k, _ := openKeeper(t, m, cfg)
			holders = append(holders, k)
		}
		const waiters = 20
		var mu sync.Mutex
		calls := map[string]int{}
		opened := make(chan leased.Keeper, waiters)
		for range waiters {
			go func() {
				store := &hooked{Memory: m, hook: func(_ context.Context, op string) error {
					mu.Lock()
					defer mu.Unlock()
					calls[op]++
					return nil
				}}
				k, err := keeper.Open(t.Context(), store, &recorder{}, cfg)
				if err != nil {
					t.Error(err)
				}
				opened <- k
			}()
		}
		time.Sleep(time.Minute) // wait for the first attempts
		mu.Lock()
		clear(calls)
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		mu.Lock()
		probes, rows, others := calls["Probe"], calls["Rows"], len(calls)
		mu.Unlock()
		// Each waiter should look for the next row about every 1.3 s, and read all of them
		// once every four TTLs.
		if perMinute := probes / waiters / 10; perMinute > 60 || perMinute < 30 {
			t.Errorf("%d probes of a waiter in a minute", perMinute)
		}
		if perMinute := float64(rows) / waiters / 10; perMinute > 4.5 || others > 2 {
			t.Errorf("%.1f reads of all rows by a waiter in a minute; calls are %v", perMinute, calls)
		}
		for range waiters {
			holder := holders[0]
			holders = holders[1:]
			errtest.NoError(t, holder.Close(t.Context()))
			freed := time.Now()
			holders = append(holders, <-opened)
			if d := time.Since(freed); d > 2*time.Second {
				t.Errorf("a worker number was free for %v", d)
			}
		}
		for _, k := range holders {
			k.Close(t.Context())
		}
	})
}

// If most holders have stopped renewing, the error should say so.
func TestTakenSaysThatHoldersStoppedRenewing(t *testing.T) {
	for _, killed := range []int{0, 4, 12} {
		synctest.Test(t, func(t *testing.T) {
			m, cfg := &kvtest.Memory{}, config(0, 15)
			first, _ := openKeeper(t, m, cfg) // so that no later lease waits for its start
			first.Close(t.Context())
			for i := range 16 {
				dead := false
				cfg.Label = fmt.Sprint("process ", i)
				openKeeper(t, &hooked{Memory: m, hook: func(ctx context.Context, op string) error {
					if op == "Claim" {
						dead = i < killed
						return nil
					}
					if dead {
						return hangs(ctx)
					}
					return nil
				}}, cfg)
			}
			time.Sleep(8 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := keeper.Open(ctx, m, &recorder{}, cfg)
			e, ok := errors.AsType[*lease.TakenError](err)
			if !ok || e.Stale != int64(killed) || len(e.Holders) != 16 || e.NextFree <= 0 || e.NextFree > 16*time.Second {
				t.Fatalf("%d were killed: %v", killed, err)
			}
			text := fmt.Sprintf("%d of their holders stopped renewing: processes are killed faster than leases expire", killed)
			if strings.Contains(err.Error(), text) != (killed > 8) {
				t.Errorf("%d were killed: %v", killed, err)
			}
		})
	}
}

// TestStopIsLoggedOnce makes the store fail for a minute. One message says that ids have
// stopped and why, and one that they are back.
func TestStopIsLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(ctx context.Context) error
		want string
	}{
		"no answer": {hangs, "it has not answered for 2.5s"},
		"blocked":   {func(context.Context) error { return &lease.BlockedError{Cause: "all are in use", Remedy: "wait"} }, "all are in use; wait"},
		"refused":   {func(context.Context) error { return errors.New("connection refused") }, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failing atomic.Bool
				store := &hooked{Memory: new(kvtest.Memory), hook: func(ctx context.Context, _ string) error {
					if failing.Load() {
						return test.fail(ctx)
					}
					return nil
				}}
				var log strings.Builder
				cfg := config(0, 0)
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				k, r := openKeeper(t, store, cfg)
				failing.Store(true)
				time.Sleep(14 * time.Second) // less than TTL
				failing.Store(false)
				time.Sleep(15 * time.Second)
				synctest.Wait()
				stops := strings.Count(log.String(), "level=WARN")
				if stops != 1 || !strings.Contains(log.String(), "ids have stopped") || !strings.Contains(log.String(), test.want) || strings.Count(log.String(), "ids are back") != 1 {
					t.Error(log.String())
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				for _, reason := range r.reasons {
					if reason != nil && reason.Error() == "context deadline exceeded" {
						t.Error("a reason says no more than", reason)
					}
					if b, ok := errors.AsType[*lease.BlockedError](reason); ok && b.Limit != 20*time.Second {
						t.Errorf("calls wait for %v, want two windows", b.Limit)
					}
				}
				go k.Close(context.Background())
			})
		})
	}
}

// TestOpenWhileBlocked has a ctx that doesn't end.
func TestOpenWhileBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &lease.BlockedError{Cause: "all are in use", Remedy: "wait"}
		store := &hooked{Memory: new(kvtest.Memory), hook: func(context.Context, string) error { return blocked }}
		began := time.Now()
		_, err := keeper.Open(context.Background(), store, new(recorder), config(0, 0))
		if took := time.Since(began); !errors.Is(err, blocked) || took < 20*time.Second || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
