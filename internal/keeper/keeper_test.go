package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// config returns a Config with ticks of a millisecond and 16 worker numbers. The epoch
// is before the year 2000, because that's where the time of synctest bubbles begins.
func config(least, most int64) keeper.Config {
	return keeper.Config{
		Terms: lease.Terms{
			Namespace: "default", Layout: "milliseconds", Epoch: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000, PerTick: 4096,
			Workers: 16, Ahead: 11_000_000, Skew: 1_000_000, TTL: 15_000_000,
		},
		MinWorker: least, MaxWorker: most, Label: "test", MaxBlocked: 20 * time.Second, Logger: slog.New(slog.DiscardHandler), Clock: time.Now,
		Compatible: func(string, time.Time) error { return errors.New("the two layouts may make the same id") },
	}
}

// A recorder is an issuer that records its grants as if it used every counter
// immediately.
type recorder struct {
	mu      sync.Mutex
	grants  []granted
	leased  bool
	sealed  []error // the reasons
	reasons []error // the reasons passed to Explain

	unused func(start, bound int64) int64 // the first counter that was not used; nil if all were
}

type granted struct{ worker, start, bound int64 }

func (r *recorder) Grant(worker, start, bound int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants, r.leased = append(r.grants, granted{worker, start, max(start, bound)}), true
}

func (r *recorder) Extend(bound int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.grants) - 1; r.leased {
		r.grants[last].bound = max(r.grants[last].bound, bound)
	}
}

func (r *recorder) Seal(reason error) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed, r.leased = append(r.sealed, reason), false; len(r.grants) == 0 {
		return 1<<63 - 1
	}
	last := &r.grants[len(r.grants)-1]
	if r.unused != nil {
		last.bound = r.unused(last.start, last.bound)
	}
	return last.bound
}

func (r *recorder) Explain(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons = append(r.reasons, reason)
}

func (r *recorder) Correct(time.Duration) {}

// last returns the latest grant and the number of grants.
func (r *recorder) last() (granted, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.grants) == 0 {
		return granted{}, 0
	}
	return r.grants[len(r.grants)-1], len(r.grants)
}

// disjoint fails if two grants of one worker number have a counter in common.
func disjoint(t *testing.T, recorders ...*recorder) {
	t.Helper()
	var all []granted
	for _, r := range recorders {
		r.mu.Lock()
		all = append(all, r.grants...)
		r.mu.Unlock()
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.worker == b.worker && max(a.start, b.start) < min(a.bound, b.bound) { // a grant may be empty
				t.Errorf("worker %d: counters %d to %d and %d to %d overlap", a.worker, b.start, b.bound, a.start, a.bound)
			}
		}
	}
}

// errNoEffect makes a call of a hooked store succeed without any effect.
var errNoEffect = errors.New("no effect")

// A hooked store calls hook before each call. If hook returns an error, the call fails
// with it and doesn't reach the Memory.
type hooked struct {
	*kvtest.Memory
	hook  func(ctx context.Context, op string) error
	after func(op string) // called after each call, unless it is nil
}

// call runs one of the store's methods, unless the hook has an error.
func (h *hooked) call(ctx context.Context, op string, method func() error) error {
	if h.after != nil {
		defer h.after(op)
	}
	switch err := h.hook(ctx, op); err {
	case nil:
		return method()
	case errNoEffect:
		return nil
	default:
		return err
	}
}

func (h *hooked) Migrate(ctx context.Context) error {
	return h.call(ctx, "Migrate", func() error { return h.Memory.Migrate(ctx) })
}

func (h *hooked) Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error) {
	err = h.call(ctx, "Layouts", func() error { layouts, position, err = h.Memory.Layouts(ctx, namespace); return err })
	return layouts, position, err
}

func (h *hooked) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (created bool, err error) {
	created = true // if there's no effect
	err = h.call(ctx, "CreateNamespace", func() error { created, err = h.Memory.CreateNamespace(ctx, terms, position); return err })
	return created && err == nil, err
}

func (h *hooked) Probe(ctx context.Context, q lease.Query) (p lease.Probe, err error) {
	p = lease.Probe{Now: time.Now().UnixMicro(), LastWorker: q.Min - 1} // if there's no effect
	err = h.call(ctx, "Probe", func() error { p, err = h.Memory.Probe(ctx, q); return err })
	return p, err
}

func (h *hooked) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return h.call(ctx, "Fence", func() error { return h.Memory.Fence(ctx, terms, seen) })
}

func (h *hooked) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	return h.call(ctx, "AddRows", func() error { return h.Memory.AddRows(ctx, terms, least, most) })
}

func (h *hooked) Claim(ctx context.Context, c lease.Claim) (row lease.Row, ok bool, err error) {
	err = h.call(ctx, "Claim", func() error { row, ok, err = h.Memory.Claim(ctx, c); return err })
	return row, ok, err
}

func (h *hooked) Renew(ctx context.Context, r lease.Renewal) (row lease.Row, ok bool, err error) {
	err = h.call(ctx, "Renew", func() error { row, ok, err = h.Memory.Renew(ctx, r); return err })
	return row, ok, err
}

func (h *hooked) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (ok bool, err error) {
	err = h.call(ctx, "Release", func() error { ok, err = h.Memory.Release(ctx, terms, held, unused); return err })
	return ok, err
}

func (h *hooked) Rows(ctx context.Context, terms lease.Terms, least, most int64) (rows []lease.Row, err error) {
	err = h.call(ctx, "Rows", func() error { rows, err = h.Memory.Rows(ctx, terms, least, most); return err })
	return rows, err
}

// after returns a store that calls f after each call.
func after(m *kvtest.Memory, f func(op string)) *hooked {
	return &hooked{m, func(context.Context, string) error { return nil }, f}
}

// openKeeper opens a keeper, which is closed at the end of the test.
func openKeeper(t *testing.T, store lease.Store, cfg keeper.Config) (leased.Keeper, *recorder) {
	t.Helper()
	r := &recorder{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	k := errtest.Must(keeper.Open(ctx, store, r, cfg))(t)
	t.Cleanup(func() { k.Close(context.Background()) })
	return k, r
}

func row(t *testing.T, store *kvtest.Memory, cfg keeper.Config, worker int64) lease.Row {
	t.Helper()
	rows, err := store.Rows(t.Context(), cfg.Terms, worker, worker)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	return rows[0]
}

// once returns a function that gives the first call of op the fault first, and all
// later ones the fault others. Calls of other methods have no fault.
func once(op string, first, others kvtest.Fault) func(string) kvtest.Fault {
	var mu sync.Mutex
	seen := false
	return func(called string) kvtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case called != op:
			return kvtest.None
		case !seen:
			seen = true
			return first
		}
		return others
	}
}

// The reply to a renewal is lost, and then the store loses the commit as well. In
// between, the row showed the commit, but the keeper must not have granted anything
// because of that.
func TestRenewalThatIsForgotten(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.LoseReply, kvtest.HangAfter} {
		t.Run(fmt.Sprint("fault ", fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, cfg := &kvtest.Memory{}, config(3, 3)
				_, r := openKeeper(t, m, cfg)
				time.Sleep(20 * time.Second)
				before, answered := m.Snapshot(), row(t, m, cfg, 3)
				m.Fault(once("Renew", fault, kvtest.Hang))
				time.Sleep(7 * time.Second) // wait for the next renewal and a read of the row
				if shown := row(t, m, cfg, 3); shown.Bound <= answered.Bound {
					t.Fatalf("the row shows no renewal: %+v", shown)
				}
				g, _ := r.last()
				if g.bound > answered.Bound {
					t.Errorf("the issuer has the bound %d; the last answered one is %d", g.bound, answered.Bound)
				}
				m.Restore(before)
				m.Fault(nil)
				time.Sleep(30 * time.Second)
				disjoint(t, r)
				if again, n := r.last(); n != 2 || again.start < g.bound || again.bound <= again.start {
					t.Errorf("after %d grants the last is %+v, after %+v", n, again, g)
				}
			})
		})
	}
}

// If a keeper finds its row at a smaller revision than in the store's last reply, it
// knows that the store has lost commits. It must then raise the fence, so that every
// later lease starts above everything that was granted. However, it must not do so if
// another process has taken the row, if somebody deleted it, or if the lease has just
// expired.
func TestForgottenCommitsRaiseTheFence(t *testing.T) {
	for name, tt := range map[string]struct {
		harm   func(t *testing.T, m *kvtest.Memory, older kvtest.Snapshot)
		fences int
	}{
		"an older state is restored": {func(_ *testing.T, m *kvtest.Memory, older kvtest.Snapshot) { m.Restore(older) }, 1},
		"the row is of another process": {func(t *testing.T, m *kvtest.Memory, _ kvtest.Snapshot) {
			taken := row(t, m, config(3, 4), 3)
			taken.Token, taken.Label, taken.Revision = "of another", "another process", taken.Revision+1
			errtest.NoError(t, m.Edit(t.Context(), config(3, 4).Terms, taken))
		}, 0},
		"the row is deleted": {func(t *testing.T, m *kvtest.Memory, _ kvtest.Snapshot) {
			errtest.NoError(t, m.Delete(t.Context(), config(3, 4).Terms, 3))
		}, 0},
		"it expired": {func(t *testing.T, m *kvtest.Memory, _ kvtest.Snapshot) {
			expired := row(t, m, config(3, 4), 3)
			expired.Expires = 0
			errtest.NoError(t, m.Edit(t.Context(), config(3, 4).Terms, expired))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, cfg := &kvtest.Memory{}, config(3, 3)
				lost := make(chan *lease.LostError, 1)
				cfg.OnLost = func(e *lease.LostError) { lost <- e }
				_, r := openKeeper(t, m, cfg)
				_, other := openKeeper(t, m, config(4, 4))
				older := m.Snapshot()
				time.Sleep(time.Minute)
				before := m.Calls("Fence")
				tt.harm(t, m, older)
				if e := <-lost; e.Namespace != "default" || e.Worker != 3 || e.Reason == "" || time.Since(e.Since) > time.Second {
					t.Errorf("OnLost was called with %+v", e)
				}
				time.Sleep(time.Minute)
				// Both keepers should notice that the store was restored.
				if n := m.Calls("Fence") - before; n != 2*tt.fences {
					t.Errorf("the fence was raised %d times", n)
				}
				disjoint(t, r, other)
				if g, n := r.last(); n != 2 || g.bound <= g.start {
					t.Errorf("%d grants, the last is %+v", n, g)
				}
			})
		})
	}
}

// If a store may lose commits from now on, it must not renew leases that were claimed
// before that. The keeper should drop its lease and claim with a hold-off.
func TestStoreBecomesVolatile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &kvtest.Memory{}, config(3, 3)
		lost := make(chan *lease.LostError, 1)
		cfg.OnLost = func(e *lease.LostError) { lost <- e }
		_, r := openKeeper(t, m, cfg)
		time.Sleep(20 * time.Second)
		g, _ := r.last()
		before := m.Snapshot()
		m.SetVolatile(true)
		at := time.Now()
		if e := <-lost; !strings.Contains(e.Reason, "lose commits") || time.Since(at) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(at), e)
		}
		// Every new grant must start at or above the cap at the time of the claim, which
		// follows at once. We use RaisedFence here to allow for a server whose clock is behind.
		burnt := cfg.Terms.At(time.Now().UnixMicro()).RaisedFence
		synctest.Wait()
		if now, n := r.last(); r.grants[0] != g || n != 2 || now.start < burnt {
			t.Errorf("%+v were granted after %+v; want one more, from %d or above", r.grants, g, burnt)
		}
		m.Restore(before) // a volatile store may do this
		time.Sleep(30 * time.Second)
		if again, n := r.last(); n != 3 || again.start < burnt || again.bound <= again.start {
			t.Errorf("after %d grants the last is %+v; want it to start at %d or above", n, again, burnt)
		}
		disjoint(t, r)
		held := false
		for _, reason := range r.reasons {
			_, is := errors.AsType[*lease.HoldOffError](reason)
			held = held || is
		}
		if !held {
			t.Errorf("no hold-off among %v", r.reasons)
		}
	})
}

// hangs waits until ctx ends. It fails like some drivers, which don't return ctx's
// error.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("interrupted")
}

// The process loses its connection, and a new one takes longer than the window. The
// process must still get one, with its lease and without.
func TestConnectingTakesLongerThanTheWindow(t *testing.T) {
	for _, away := range []time.Duration{0, time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &kvtest.Memory{}
				var connected atomic.Bool
				connected.Store(true)
				lost := time.Now().Add(time.Hour)
				store := &hooked{Memory: m, hook: func(ctx context.Context, _ string) error {
					if connected.Load() {
						return nil
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(max(time.Until(lost.Add(away)), 0) + 12*time.Second):
						connected.Store(true)
						return nil
					}
				}}
				_, r := openKeeper(t, store, config(3, 3))
				lost = time.Now()
				connected.Store(false)
				time.Sleep(away + 3*time.Minute)
				if !connected.Load() {
					t.Fatal("no connection")
				}
				time.Sleep(time.Minute)
				if last, _ := r.last(); last.bound < time.Since(time.UnixMicro(config(3, 3).Epoch)).Milliseconds()*4096 {
					t.Errorf("no ids: %+v", last)
				}
			})
		})
	}
}

// Open gave up while a claim had no reply. The worker number must be free afterwards,
// whether the claim was executed or is still under way.
func TestOpenThatFailsGivesTheWorkerBack(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.HangAfter, kvtest.Late} {
		for _, expired := range []bool{false, true} {
			for _, taken := range []bool{false, true} {
				t.Run(fmt.Sprintf("fault %d, expired %v, taken %v", fault, expired, taken), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						m, cfg := &kvtest.Memory{}, config(3, 3)
						first, r := openKeeper(t, m, cfg)
						if expired {
							m.Fault(func(string) kvtest.Fault { return kvtest.Refuse })
						}
						first.Close(t.Context())
						m.Fault(nil)
						time.Sleep(time.Minute)
						m.Fault(once("Claim", fault, kvtest.Refuse))
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						defer cancel()
						if _, err := keeper.Open(ctx, m, &recorder{}, cfg); err == nil {
							t.Fatal("opened")
						}
						if now := row(t, m, cfg, 3); now.Token != "" {
							t.Errorf("after Open: %+v", now)
						}
						var another *recorder
						m.Fault(nil)
						if taken {
							_, another = openKeeper(t, m, cfg)
						}
						before := row(t, m, cfg, 3)
						m.Deliver()
						after := row(t, m, cfg, 3)
						if before.Now = after.Now; before != after {
							t.Errorf("the late claim changed %+v to %+v", before, after)
						}
						if taken {
							disjoint(t, r, another)
						}
					})
				})
			}
		}
	}
}

// tokens records which tokens were sent to renew each revision.
type tokens struct {
	*kvtest.Memory
	mu   sync.Mutex
	sent map[int64]map[string]int
}

func (s *tokens) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	s.mu.Lock()
	if s.sent[r.Held.Revision] == nil {
		s.sent[r.Held.Revision] = make(map[string]int)
	}
	s.sent[r.Held.Revision][r.Token]++
	s.mu.Unlock()
	return s.Memory.Renew(ctx, r)
}

// All attempts to renew the same revision must use the same token, which must not be
// used for any other revision.
func TestRenewalsOfOneRevisionHaveOneToken(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.Refuse, kvtest.Hang, kvtest.LoseReply, kvtest.HangAfter, kvtest.Late} {
		t.Run(fmt.Sprint("fault ", fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &tokens{Memory: &kvtest.Memory{}, sent: make(map[int64]map[string]int)}
				cfg := config(3, 3)
				cfg.TTL = time.Hour.Microseconds()
				k, _ := openKeeper(t, store, cfg)
				time.Sleep(time.Minute)
				store.Fault(func(op string) kvtest.Fault {
					if op == "Renew" {
						return fault
					}
					return kvtest.None
				})
				time.Sleep(10 * time.Minute)
				store.Fault(nil)
				time.Sleep(time.Minute)
				k.Close(t.Context())
				calls, largest, all := 0, 0, map[string]bool{}
				for revision, sent := range store.sent {
					if len(sent) != 1 {
						t.Errorf("%d tokens for revision %d", len(sent), revision)
					}
					for token, n := range sent {
						calls, largest = calls+n, max(largest, n)
						if all[token] {
							t.Errorf("the token of revision %d is also of another", revision)
						}
						all[token] = true
					}
				}
				if calls < 80 || (fault == kvtest.Refuse || fault == kvtest.Hang) && largest < 50 {
					t.Errorf("%d renewals, %d of one revision", calls, largest)
				}
				if n := store.Calls("Claim"); n != 1 {
					t.Errorf("%d claims", n)
				}
			})
		})
	}
}
