package segment_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

// Even if the store forgets what it granted, or grants something else, a Segment must
// not issue a number again.
func TestStoreForgetsAGrant(t *testing.T) {
	store := new(segmenttest.Memory)
	s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10})
	draws(t, s, base)
	store.SetBound("orders", base-1000)
	appends(t, s, 99, base+1, 1)
	if bound := store.Bound("orders"); bound < base+100 {
		t.Errorf("the bound is %d, and %d is drawn", bound, base+99)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	for _, offset := range []int64{-1, 1000} {
		t.Run(fmt.Sprint("offset ", offset), func(t *testing.T) {
			s := newSegment(t, storeFunc(func(_ context.Context, f segment.Fetch) (int64, error) {
				if offset < 0 {
					return f.Min + offset, nil
				}
				return f.Limit + offset, nil
			}), segment.Config{MaxValue: 1 << 60})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			id, err := s.Next(ctx)
			if e, ok := errors.AsType[*segment.StoreError](err); !ok || !strings.Contains(e.Error(), "it granted numbers from") {
				t.Errorf("drew %d, %v", id, err)
			}
		})
	}
}

// If a reply is lost, the numbers that were granted are skipped, but no others.
func TestSkipsLostReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []segmenttest.Fault{segmenttest.LoseReply, segmenttest.HangAfter} {
			store := new(segmenttest.Memory)
			calls := 0
			store.Fault(func() segmenttest.Fault {
				if calls++; calls == 3 {
					return fault
				}
				return segmenttest.None
			})
			s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10})
			appends(t, s, 20, base, 1) // the first fetch, which is for 20 numbers
			appends(t, s, 10, base+20, 1)
			draws(t, s, base+40, base+41)
		}
	})
}

// While the store is unavailable, the fetched numbers should still be issued. After
// that, calls must wait until their context ends, and return the reason. Once the store
// answers again, they should continue at once.
func TestStoreIsUnavailable(t *testing.T) {
	for name, fault := range map[string]segmenttest.Fault{"refuses": segmenttest.Refuse, "hangs": segmenttest.Hang} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(segmenttest.Memory)
				s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10})
				draws(t, s, base)
				synctest.Wait()
				store.Fault(func() segmenttest.Fault { return fault })
				appends(t, s, 18, base+1, 1)
				time.Sleep(6 * time.Second)
				if h := s.Health(); h.State != idgen.Serving || h.Reason == nil || h.Ready != 1 {
					t.Errorf("with one left: %+v", h)
				}
				draws(t, s, base+19)

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := s.Next(ctx)
				e, ok := errors.AsType[*segment.StoreError](err)
				if !ok || e.Name != "orders" || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				if fault == segmenttest.Refuse && !errors.Is(err, segmenttest.ErrFault) {
					t.Errorf("%v hides the store's own error", err)
				}
				if h := s.Health(); h.State != idgen.Waiting || h.Reason == nil || h.Ready != 0 {
					t.Errorf("health is %+v", h)
				}
				if n := len(store.Fetches()); n > 130 {
					t.Errorf("%d statements in a minute", n)
				}
				store.Fault(nil)
				began = time.Now()
				draws(t, s, base+20)
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("noticed %v later that the store is back", took)
				}
				if h := s.Health(); h.State != idgen.Serving || h.Reason != nil {
					t.Errorf("health is %+v", h)
				}
			})
		})
	}
}

// If a store ignores the end of its context, calls have to wait, but Health and the
// errors of the calls should say why. The late answer should still be used.
func TestStoreIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, hang := new(segmenttest.Memory), make(chan struct{})
		s := newSegment(t, storeFunc(func(ctx context.Context, f segment.Fetch) (int64, error) {
			<-hang
			return store.Fetch(context.WithoutCancel(ctx), f)
		}), segment.Config{Timeout: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Next(ctx)
		if e, ok := errors.AsType[*segment.StoreError](err); !ok || !strings.Contains(e.Error(), "it has not answered for 1s") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drew with %v", err)
		}
		if h := s.Health(); h.State != idgen.Waiting || h.Reason == nil {
			t.Errorf("health is %+v", h)
		}
		close(hang)
		draws(t, s, base)
		synctest.Wait()
		if h := s.Health(); h.State != idgen.Serving || h.Reason != nil {
			t.Errorf("after the answer health is %+v", h)
		}
	})
}

// After the chain has been filled, no goroutine may be left. If there is one, the
// bubble doesn't end.
func TestNoGoroutineWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		s := errtest.Must(segment.New(store, segment.Config{Name: "orders"}))(t)
		draws(t, s, 1)
		synctest.Wait()
		before := len(store.Fetches())
		time.Sleep(time.Hour)
		if n := len(store.Fetches()); n != before {
			t.Errorf("%d statements while nobody drew", n-before)
		}
		draws(t, s, 2)
	})
}

// If demand rises a hundredfold and a statement takes a fiftieth of Ahead, a call
// should wait for at most one statement. If a statement takes less than a hundredth, no
// call should have to wait.
func TestDemandJumps(t *testing.T) {
	for _, takes := range []time.Duration{time.Millisecond, 9 * time.Millisecond, 20 * time.Millisecond} {
		for _, sixth := range []time.Duration{0, 2, 4} { // the jump may come at any point of the chain
			t.Run(fmt.Sprintf("a statement takes %v, %d", takes, sixth), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := new(segmenttest.Memory)
					slow(store, &takes)
					s := newSegment(t, store, segment.Config{MinStep: 10})
					rate(t, s, 1000, 5*time.Second+sixth*time.Second/6)
					allowed := takes
					if takes < 10*time.Millisecond {
						allowed = 0
					}
					if longest := rate(t, s, 100_000, 300*time.Millisecond); longest > allowed {
						t.Errorf("a call waited for %v, a statement takes %v", longest, takes)
					}
				})
			})
		}
	}
}

// The step should follow demand such that there is about one statement per Ahead.
func TestStepFollowsDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		takes := time.Millisecond
		slow(store, &takes)
		s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 5000})
		statements := func(n int, d time.Duration) (in int) {
			before := len(store.Fetches())
			rate(t, s, n, d)
			return len(store.Fetches()) - before
		}
		between := func(what string, got, least, most int64) {
			t.Helper()
			if got < least || got > most {
				t.Errorf("%s is %d, not within %d to %d", what, got, least, most)
			}
		}
		statements(1000, 3*time.Second)
		between("statements in 20 s", int64(statements(1000, 20*time.Second)), 15, 25)
		between("the step", s.Health().Step, 900, 1100)
		statements(20_000, 3*time.Second)
		between("the step, limited", s.Health().Step, 5000, 5000)
		rate(t, s, 5, 2*time.Hour)
		between("the step after hours of little demand", s.Health().Step, 10, 10)
		between("what is ready then", s.Health().Ready, 0, 20)
		for _, f := range store.Fetches() {
			between("a span", f.Span, 10, 5000)
		}
	})
}
