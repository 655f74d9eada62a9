package idgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A tenure is a worker number together with the range of counters that may be issued
// with it. A leased pool has a tenure for each lease, whereas a pool that is not leased
// has just one, which ends with its layout.
type tenure struct {
	shared uint64 // the bits that all ids have in common: worker and fixed fields

	// How far numbers may run ahead of the clock. These are the limits of Config, plus
	// the distance by which start was ahead of the clock when the tenure began, if it
	// was.
	ticksAhead        int64 // maxAhead in whole ticks
	maxAhead, maxLead time.Duration

	worker int64
	start  int64 // the first counter that may be issued

	// before is the number before start. It is not negative, since that would be a seal,
	// and not so large that the next number overflows. If start is so large, the next
	// number is one that the layout never issues.
	before int64
}

func (p *Pool) newTenure(worker, start int64) *tenure {
	ahead := max(p.lead(start, p.main.clock.now()), 0)
	largest := int64(math.MaxInt64) >> (63 - min(uint(p.counterBits)+p.layout.rollback.bits, 63))
	return &tenure{
		worker:   worker,
		shared:   p.layout.fixed | p.layout.worker.put(worker),
		start:    start,
		before:   min(max(start, 1), largest) - 1,
		maxAhead: saturatingAdd(p.maxAhead, ahead),
		maxLead:  saturatingAdd(p.maxLead, ahead),
	}
}

// begin gives the generator a new sequence in t, with numbers from t.start on and below
// bound. The caller must hold the pool's mu.
func (g *Generator) begin(t *tenure, bound int64) {
	s := &sequence{tenure: *t}
	s.ticksAhead = int64(t.maxAhead / g.unit)
	s.bound.Store(bound)
	s.last.Store(t.before)
	g.seq.Store(s)
}

// sealed marks a sequence as sealed. It takes the place of the last number, and is so
// low that it stays negative even if calls still add to it.
const sealed = -1 << 63

// tenures wakes the calls that wait for another tenure or for a higher bound.
type tenures struct {
	limit  int64         // the layout's last counter, which is never issued
	keeper leased.Keeper // nil unless the pool is leased
	refuse error         // the error of calls after Close
	closed chan struct{} // closed once all sequences are sealed for good

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever a tenure begins, ends or is extended
	reason  error         // why there is no tenure, or why it could not be extended
}

// announce wakes all waiting calls. Calls that wait from now on report reason.
func (t *tenures) announce(reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reason = reason
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *tenures) watch() (changed <-chan struct{}, reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed, t.reason
}

// await waits until ready returns true. It calls ready right away and again after each
// announcement. It returns an error if the pool is closed, if ctx ends, or if the wait has
// lasted for the Limit of a BlockedError, since the transaction that makes this call may be
// what keeps the store from answering.
func (c *core) await(ctx context.Context, ready func() bool) error {
	t := &c.tenures
	began := time.Now()
	for waiting := false; ; waiting = true {
		changed, reason := t.watch()
		select {
		case <-t.closed:
			return t.refuse
		default:
		}
		if ready() {
			return nil
		}
		if !waiting {
			defer c.leaseWaits.begin()()
		}
		var limit <-chan time.Time
		if b, ok := errors.AsType[*leased.BlockedError](reason); ok {
			limit = time.After(b.Limit - time.Since(began))
		}
		select {
		case <-changed:
		case <-t.closed:
		case <-limit:
			return fmt.Errorf("idgen: waiting for the lease: %w", reason)
		case <-ctx.Done():
			if reason == nil {
				return fmt.Errorf("idgen: waiting for the lease: %w", ctx.Err())
			}
			return fmt.Errorf("idgen: waiting for the lease: %w: %w", ctx.Err(), reason)
		}
	}
}

// awaitTenure waits until the sealed sequence s has been replaced.
func (g *Generator) awaitTenure(ctx context.Context, s *sequence) error {
	return g.await(ctx, func() bool { return g.seq.Load() != s })
}

// awaitBound waits until n counters of s may be issued, or until s is sealed. As long
// as the bound is too low, it requests a higher one from the keeper. Since the clock
// decides which counters come next, awaitBound has to compute them again after each
// announcement.
func (g *Generator) awaitBound(ctx context.Context, s *sequence, n int64) error {
	return g.await(ctx, func() bool {
		last := s.last.Load()
		if last < 0 {
			return true
		}
		first := g.counter(g.next(last, n, g.clock.now()))
		if n <= s.bound.Load()-first || n > g.limit-first {
			return true
		}
		g.keeper.Want(first + n)
		return false
	})
}
