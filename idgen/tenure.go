package idgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A tenure is a worker number and the counters that may be issued under it. A
// pool with a worker number of its own has one tenure, up to the end of its
// layout; a leased pool has one for each lease.
type tenure struct {
	worker int64
	shared uint64 // the bits that all ids have in common: worker and fixed fields
	start  int64  // the first counter that may be issued

	// bound is the first counter that may not be issued. It is at most
	// counterMask, so that a counter at the bound never runs over into the
	// rollback number.
	bound atomic.Int64

	// How far numbers may run ahead of the clock: those of Config, and in
	// addition what start was ahead of the clock when the tenure began.
	maxAhead, maxLead time.Duration
}

func (c *core) newTenure(worker, start, bound int64) *tenure {
	ahead := max(c.start(start)-c.clock.now(), 0)
	t := &tenure{
		worker:   worker,
		shared:   c.layout.fixed | c.layout.worker.put(worker),
		start:    start,
		maxAhead: saturatingAdd(c.maxAhead, ahead),
		maxLead:  saturatingAdd(c.maxLead, ahead),
	}
	t.bound.Store(min(bound, c.limit))
	return t
}

// sequence returns the state of a generator that begins under t.
func (t *tenure) sequence() *sequence {
	s := &sequence{tenure: t}
	s.last.Store(max(t.start, 1) - 1) // a negative number would be a seal
	return s
}

// sealed is so far from zero that it stays negative.
const sealed = -1 << 63

// tenures is what a generator waits for when its sequence cannot go on.
type tenures struct {
	limit  int64         // the first counter that the layout does not have
	keeper leased.Keeper // nil unless the pool is leased
	refuse error         // what a closed pool answers
	closed chan struct{} // closed once all sequences are sealed for good

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when a tenure begins, ends or is extended
	reason  error         // why there is no tenure, or why it is not extended
}

// announce wakes all who wait, and tells what they would wait for from now on.
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

// await returns when ready does. It asks again after each announcement.
func (t *tenures) await(ctx context.Context, ready func() bool) error {
	for {
		changed, reason := t.watch()
		select {
		case <-t.closed:
			return t.refuse
		default:
		}
		if ready() {
			return nil
		}
		select {
		case <-changed:
		case <-t.closed:
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

// awaitBound waits until n counters of s may be issued, or s has ended. Which
// counters these are depends on the clock, and so may change meanwhile.
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
