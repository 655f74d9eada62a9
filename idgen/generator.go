package idgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A Generator makes the ids of one named sequence of a [Pool]. Its ids are
// unique and strictly ascending, also if the clock goes back. The order has two
// limits: [Config.Rotate] continues with smaller ids after the clock was set
// back, and in a leased pool the order holds within a lease. The next lease may
// start lower, if the clock was ahead before.
//
// A Generator is safe for concurrent use. The zero Generator is not valid:
// [Pool.Named] makes them.
type Generator struct {
	*core
	name   string
	downAt atomic.Int64 // the last at which the log was told that the clock is down
	seq    atomic.Pointer[sequence]

	unordered atomic.Pointer[Unordered] // nil until it is asked for
}

// A sequence is a generator under one tenure. A new tenure begins a new
// sequence, so that no state of the old one can follow it there.
type sequence struct {
	*tenure

	_ cacheLine
	// last is the number handed out last, and all that a generator remembers:
	//
	//	rollback | tick | sequence      the lower two are the counter
	//
	// It only ever grows. A negative number is the seal of an ended sequence.
	last atomic.Int64
	_    cacheLine
}

// cacheLine keeps what every call writes away from what every call reads.
type cacheLine [64]byte

// core is what the generators of one pool share. Nothing changes it after
// NewPool, but for what synchronises itself.
type core struct {
	layout Layout
	end    time.Duration // when the last tick of the layout is over, since the epoch

	unit                                  time.Duration
	maxAhead, maxWait, maxLead, maxBehind time.Duration // maxLead = maxAhead + maxWait
	rotate                                bool
	spread                                spread

	// Where the parts of a number are, and where the layout wants them. The code
	// says shift&63 because the compiler then knows that one instruction does.
	seqBits, counterBits               uint
	seqMask, counterMask               int64
	timeShift, seqShift, rollbackShift uint

	clock *clock
	log   logger
	tenures
}

// Next returns one id. While the clock is behind it waits, but no longer than
// ctx lasts, and not for more than [Config.MaxWait]. A leased pool also waits,
// until ctx ends, while it has no lease or has used up what the lease grants.
// Errors are [*ClockError], [ErrLayoutExhausted], [ErrClosed], and that of ctx
// when it ended a wait, together with the reason for the wait.
func (g *Generator) Next(ctx context.Context) (int64, error) {
	// The short way: the next number, if its tick is now or not too far ahead. If
	// another call takes it, the one behind it: that is no reason to read the clock
	// again, which is most of what an id costs.
	s := g.seq.Load()
	now := g.clock.now()
	for {
		number := s.last.Load() + 1
		lead := g.start(number) - now
		if number <= 0 || lead <= -g.unit || lead > s.maxAhead || g.counter(number) >= s.bound.Load() {
			break
		}
		if s.last.CompareAndSwap(number-1, number) {
			return g.id(s.tenure, number), nil
		}
	}
	s, first, err := g.reserve(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.id(s.tenure, first), nil
}

// reserve takes n consecutive numbers of a sequence and returns the first of
// them once the clock is within maxAhead of the last.
//
// Invariant: s.last only grows, and the call that swaps it from a to b alone
// owns the numbers in (a, b]. So none is handed out twice, and an owner who
// gives up leaves a gap. No clock is waited for before the swap; after it,
// nobody else is concerned.
func (g *Generator) reserve(ctx context.Context, n int64) (s *sequence, first int64, err error) {
	for {
		s = g.seq.Load()
		now := g.clock.now()
		last := s.last.Load()
		if last < 0 {
			if err := g.awaitTenure(ctx, s); err != nil {
				return nil, 0, err
			}
			continue
		}
		first = g.next(last, n, now)
		if counter := g.counter(first); n > s.bound.Load()-counter {
			if n > g.limit-counter {
				return nil, 0, ErrLayoutExhausted
			}
			if err := g.awaitBound(ctx, s, n); err != nil {
				return nil, 0, err
			}
			continue
		}
		final := first + n - 1
		lead := g.start(final) - now // how far we would run ahead of the clock
		if lead > s.maxLead {
			if g.rotateFrom(s, last, now) {
				continue
			}
			return nil, 0, g.late(s, last, lead)
		}
		if lead > s.maxAhead && ctx.Err() != nil {
			return nil, 0, waitError(ctx)
		}
		if !s.last.CompareAndSwap(last, final) {
			continue
		}
		if lead > s.maxAhead {
			return s, first, g.wait(ctx, s, final)
		}
		return s, first, nil
	}
}

// next returns max(last+1, now<<seqBits | spread), or the bound of the layout
// once the clock is past it.
func (c *core) next(last, n int64, now time.Duration) int64 {
	next := last + 1
	if c.start(next) > now-c.unit {
		return next // its tick has not ended: no need to divide
	}
	rollback := last - c.counter(last)
	if now >= c.end {
		return rollback + c.limit
	}
	return rollback + c.fresh(now, n)
}

// fresh returns the counter that begins the tick of now, for n ids.
func (c *core) fresh(now time.Duration, n int64) int64 {
	tick := int64(now / c.unit)
	// A call whose ids fit into one tick gets them in one tick.
	room := max(1<<c.seqBits-n, 0)
	return tick<<c.seqBits + min(c.spread.at(tick), room)
}

// counter returns number without its rollback number.
func (c *core) counter(number int64) int64 { return number & c.counterMask }

// start returns when the tick of number begins, since the epoch.
func (c *core) start(number int64) time.Duration {
	return time.Duration(c.counter(number)>>(c.seqBits&63)) * c.unit
}

// id puts a number into the places that the layout has for it.
func (c *core) id(t *tenure, number int64) int64 {
	return int64(t.shared |
		uint64(number)>>(c.counterBits&63)<<(c.rollbackShift&63) |
		uint64(number&c.counterMask)>>(c.seqBits&63)<<(c.timeShift&63) |
		uint64(number&c.seqMask)<<(c.seqShift&63))
}

// wait returns once the clock is within maxAhead of number, which the caller
// owns.
//
// It asks the clock again after each sleep, because that may be stepped, be
// corrected or stand still, and to see this in time it sleeps for resyncEvery at
// most. It sleeps a little longer than it must, so that a generator at its
// ceiling has numbers for many calls whenever one of them wakes: waiting would
// otherwise cost as much as the work.
func (g *Generator) wait(ctx context.Context, s *sequence, number int64) error {
	const shortest = 100 * time.Microsecond
	longer := min(g.maxAhead/2, 5*time.Millisecond)
	var timer *time.Timer
	for {
		lead := g.start(number) - g.clock.now()
		left := lead - s.maxAhead
		switch {
		case left <= 0:
			return nil
		case left > g.maxWait:
			return g.late(s, number, lead) // set back further meanwhile
		}
		nap := min(max(left+longer, shortest), resyncEvery)
		if timer == nil {
			timer = time.NewTimer(nap)
			defer timer.Stop()
		} else {
			timer.Reset(nap)
		}
		select {
		case <-timer.C:
		case <-g.closed:
			return g.refuse
		case <-ctx.Done():
			return waitError(ctx)
		}
	}
}

func waitError(ctx context.Context) error {
	return fmt.Errorf("idgen: waiting for the clock: %w", ctx.Err())
}

// seal ends the sequence and returns the last number that it handed out.
func (g *Generator) seal() (last int64) {
	last = g.seq.Load().last.Swap(sealed)
	if u := g.unordered.Load(); u != nil { // else it has taken no block, and will find the seal
		u.seal()
	}
	return last
}

// rotateFrom starts the tick of now under the next rollback number, or lets
// another call do so. It reports false where that is not allowed: without
// Rotate, with all numbers used, or if no step of the clock but a burst took
// the numbers up to last (bursts reach maxLead and the tick after it).
func (g *Generator) rotateFrom(s *sequence, last int64, now time.Duration) bool {
	if !g.rotate || now < 0 || now >= g.end || g.start(last)-now <= s.maxLead+g.unit || g.rollbacksLeft(last) == 0 {
		return false
	}
	rollback := last>>g.counterBits + 1
	if s.last.CompareAndSwap(last, rollback<<g.counterBits+g.fresh(now, 1)) {
		g.log().Warn("idgen: the clock was set back; ids go on under the next rollback number",
			"generator", g.name, "worker", s.worker, "behind", g.start(last)-now, "rollback", rollback)
	}
	return true
}

func (g *Generator) rollbacksLeft(last int64) int64 {
	return int64(g.layout.rollback.max()) - last>>g.counterBits
}

// late returns the error for a call that would lead the clock by lead, and
// tells the log once when that makes the generator down.
func (g *Generator) late(s *sequence, last int64, lead time.Duration) error {
	if lead > g.maxBehind && g.downAt.Swap(last) != last {
		g.log().Error("idgen: down until the clock is back", "generator", g.name, "worker", s.worker, "behind", lead)
	}
	if g.keeper != nil && g.clock.correction.Load() != 0 {
		g.keeper.Want(0) // the host's clock may have been set right
	}
	err := &ClockError{Behind: lead, RetryAfter: lead - s.maxAhead, MaxWait: g.maxWait}
	if g.rotate && g.rollbacksLeft(last) == 0 {
		err.Rollbacks = int(g.layout.rollback.max())
	}
	return err
}
