package idgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A tenure is the state of a generator with one worker number. A leased pool has a tenure
// for each lease, whereas a pool that is not leased has just one, which ends with its
// layout. Each is a new object, so that a call can't mix up the states of two.
type tenure struct {
	// last is the last number that a call has taken. Ids depend on no other state:
	//
	//	rollback | tick | sequence      (tick and sequence together are the counter)
	//
	// It only ever grows, and it is negative once the tenure has been sealed.
	last atomic.Int64

	// bound is the first counter that must not be issued, and it only grows. It must fit
	// into counterBits, because a larger counter would overflow into the rollback number.
	bound atomic.Int64

	shared uint64 // the bits that all ids have in common: worker and fixed fields

	// How far numbers may run ahead of the clock. These are the limits of Config, plus
	// ahead, the distance by which a lease's start was ahead of the clock when it began.
	ticksAhead               int64 // maxAhead in whole ticks
	maxAhead, maxLead, ahead time.Duration

	worker, start int64 // start is the first counter that may be issued
}

// begin gives the generator a new tenure. The caller must hold mu.
func (g *Generator) begin(worker, start, bound int64, ahead time.Duration) {
	l := g.cfg.Layout
	t := &tenure{
		shared:   l.fixed | l.worker.put(worker),
		maxAhead: saturatingAdd(g.cfg.MaxAhead, ahead),
		maxLead:  saturatingAdd(g.maxLead, ahead),
		ahead:    ahead,
		worker:   worker,
		start:    start,
	}
	t.ticksAhead = int64(t.maxAhead / g.unit)
	t.bound.Store(bound)
	// The number before start must not be negative, since that would be a seal, and not so
	// large that the next number overflows. If start is so large, the next number is one
	// that the layout never issues.
	largest := int64(math.MaxInt64) >> (63 - min(g.counterBits+g.rollback.bits, 63))
	last := min(max(start, 1), largest) - 1
	t.last.Store(last)
	g.skipped.Add(last)
	g.tenure.Store(t)
}

// sealed marks a tenure as sealed. It takes the place of the last number.
const sealed = -1 << 63

// ended is the tenure of generators without one.
var ended = func() *tenure {
	t := &tenure{}
	t.last.Store(sealed)
	return t
}()

// change locks mu for a change to the tenures. The caller must call done afterwards, which
// wakes all waiting calls. Calls that wait from then on report reason.
func (c *core) change(reason error) (done func()) {
	c.mu.Lock()
	return func() {
		c.reason = reason
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
	}
}

func (c *core) watch() (changed <-chan struct{}, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.reason
}

// await waits until n counters of t may be issued, or until t has been replaced. As long as
// the bound is too low, it requests a higher one from the keeper. It looks right away and
// again after each change, because the clock decides which counters come next. It returns
// an error if the pool is closed, if ctx ends, or if the wait has lasted for the Limit of a
// BlockedError, since the transaction that makes this call may be what keeps the store
// from answering.
func (g *Generator) await(ctx context.Context, t *tenure, n int64) error {
	began := time.Now()
	for waiting := false; ; waiting = true {
		changed, reason := g.watch()
		last := t.last.Load()
		first := g.counter(g.next(last, n, g.clock.now()))
		switch {
		case g.life.Err() != nil:
			return context.Cause(g.life)
		case last < 0 && g.tenure.Load() != t:
			return nil
		case last < 0: // wait for the next tenure
		case n <= t.bound.Load()-first || n > g.limit-first: // in the second case, waiting is no use
			return nil
		default:
			g.keeper.Want(first + n)
		}
		if !waiting {
			defer g.leaseWaits.begin()()
		}
		var limit <-chan time.Time
		if b, ok := errors.AsType[*leased.BlockedError](reason); ok {
			limit = time.After(b.Limit - time.Since(began))
		}
		select {
		case <-changed:
		case <-g.life.Done():
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

// NewLeased makes a pool that gets its worker number from a keeper. It's for package
// snowkey, which is why its parameters have internal types. It calls open with the pool's
// issuer, and open returns the keeper. Worker and Rotate must not be set in cfg. Rotate
// would be unsafe here, because an earlier holder of the worker number might already have
// used the rollback numbers.
func NewLeased(cfg Config, open func(leased.Issuer) (leased.Keeper, error)) (*Pool, error) {
	p, err := newPool(cfg)
	if err != nil {
		return nil, err
	}
	if p.keeper, err = open(issuer{p}); err != nil {
		return nil, err
	}
	return p, nil
}

// issuer implements [leased.Issuer] for a pool.
type issuer struct{ *Pool }

func (p issuer) Grant(worker, start, bound int64) {
	defer p.change(nil)()
	ahead := max(p.lead(start, p.main.clock.now()), 0)
	for _, g := range p.named.Range {
		g.(*Generator).begin(worker, start, min(bound, p.limit), ahead)
	}
}

func (p issuer) Extend(bound int64) {
	defer p.change(nil)()
	for _, g := range p.named.Range {
		if t := g.(*Generator).tenure.Load(); t.last.Load() >= 0 {
			t.bound.Store(max(t.bound.Load(), min(bound, p.limit)))
		}
	}
}

func (p issuer) Seal(reason error) (unused int64) {
	defer p.change(reason)()
	return p.seal()
}

func (p issuer) Explain(reason error) { p.change(reason)() }

func (p issuer) Correct(offset time.Duration) {
	_, reason := p.watch()
	defer p.change(reason)()
	for _, g := range p.named.Range {
		g.(*Generator).clock.correct(offset)
	}
}
