package idgen

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// A Generator makes the ids of one named sequence of a [Pool]. Its ids are
// unique and strictly ascending, whatever the clock does. Only
// [Config.Rotate] gives up the order, to go on after the clock was set back.
//
// A Generator is safe for concurrent use. The zero Generator is not valid:
// [Pool.Named] makes them.
type Generator struct {
	*core
	name   string
	downAt atomic.Int64 // the last at which the log was told that the clock is down

	_ cacheLine
	// last is the number handed out last, and all that a generator remembers:
	//
	//	rollback | tick | sequence      the lower two are the counter
	//
	// It only ever grows. A negative number is the seal of a closed generator.
	last atomic.Int64
	_    cacheLine
}

// cacheLine keeps what every call writes away from what every call reads.
type cacheLine [64]byte

// core is what the generators of one pool share. Nothing changes it after
// NewPool, but for the clock, which synchronises itself.
type core struct {
	layout Layout
	worker int64

	// bound is the first counter that may not be issued. It ends the layout
	// here; a leased worker has a nearer one. It is at most counterMask, so that
	// a counter at the bound never runs over into the rollback number.
	bound int64
	end   time.Duration // when the last tick below bound is over, since the epoch

	unit                                  time.Duration
	maxAhead, maxWait, maxLead, maxBehind time.Duration // maxLead = maxAhead + maxWait
	rotate                                bool
	spread                                spread

	// Where the parts of a number are, and where the layout wants them. The code
	// says shift&63 because the compiler then knows that one instruction does.
	seqBits, counterBits               uint
	seqMask, counterMask               int64
	timeShift, seqShift, rollbackShift uint
	shared                             uint64 // the bits that all ids have in common: worker and fixed fields

	clock  *clock
	log    logger
	refuse error         // what a sealed generator answers
	closed chan struct{} // ends waits; closed once all generators are sealed
}

// sealed is so far from zero that it stays negative.
const sealed = math.MinInt64

// Next returns one id. While the clock is behind it waits, but no longer than
// ctx lasts, and not for more than [Config.MaxWait]. Errors are [*ClockError],
// [ErrLayoutExhausted], [ErrClosed], and that of ctx when it ended a wait.
func (g *Generator) Next(ctx context.Context) (int64, error) {
	// The short way: the next number, if its tick is now or not too far ahead.
	now := g.clock.now()
	number := g.last.Load() + 1
	lead := g.start(number) - now
	if number > 0 && -g.unit < lead && lead <= g.maxAhead && g.counter(number) < g.bound && g.last.CompareAndSwap(number-1, number) {
		return g.id(number), nil
	}
	first, err := g.reserve(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.id(first), nil
}

// reserve takes n consecutive numbers and returns the first of them once the
// clock is within maxAhead of the last.
//
// Invariant: g.last only grows, and the call that swaps it from a to b alone
// owns the numbers in (a, b]. So none is handed out twice, and an owner who
// gives up leaves a gap. Nothing waits before the swap; after it, nobody else
// is concerned.
func (g *Generator) reserve(ctx context.Context, n int64) (int64, error) {
	now := g.clock.now()
	for {
		last := g.last.Load()
		if last < 0 {
			return 0, g.refuse
		}
		first := g.next(last, n, now)
		if n > g.bound-g.counter(first) {
			return 0, ErrLayoutExhausted
		}
		final := first + n - 1
		lead := g.start(final) - now
		if lead > g.maxLead {
			if g.rotateFrom(last, now) {
				continue
			}
			return 0, g.late(last, lead)
		}
		if lead > g.maxAhead && ctx.Err() != nil {
			return 0, waitError(ctx)
		}
		if !g.last.CompareAndSwap(last, final) {
			continue
		}
		if lead > g.maxAhead {
			return first, g.wait(ctx, final)
		}
		return first, nil
	}
}

// next returns max(last+1, now<<seqBits | spread), or the bound once the clock
// is past it.
func (g *Generator) next(last, n int64, now time.Duration) int64 {
	next := last + 1
	if g.start(next) > now-g.unit {
		return next // its tick has not ended: no need to divide
	}
	rollback := last - g.counter(last)
	if now >= g.end {
		return rollback + g.bound
	}
	return rollback + g.fresh(now, n)
}

// fresh returns the counter that begins the tick of now, for n ids.
func (g *Generator) fresh(now time.Duration, n int64) int64 {
	tick := int64(now / g.unit)
	// A call whose ids fit into one tick gets them in one tick.
	room := max(1<<g.seqBits-n, 0)
	return tick<<g.seqBits + min(g.spread.at(tick), room)
}

// counter returns number without its rollback number.
func (g *Generator) counter(number int64) int64 { return number & g.counterMask }

// start returns when the tick of number begins, since the epoch.
func (g *Generator) start(number int64) time.Duration {
	return time.Duration(g.counter(number)>>(g.seqBits&63)) * g.unit
}

// id puts a number into the places that the layout has for it.
func (g *Generator) id(number int64) int64 {
	return int64(g.shared |
		uint64(number)>>(g.counterBits&63)<<(g.rollbackShift&63) |
		uint64(number&g.counterMask)>>(g.seqBits&63)<<(g.timeShift&63) |
		uint64(number&g.seqMask)<<(g.seqShift&63))
}

// wait returns once the clock is within maxAhead of number, which the caller
// owns.
//
// It asks the clock again after each sleep, because that may be stepped or stand
// still. It sleeps a little longer than it must, so that a generator at its
// ceiling has numbers for many calls whenever one of them wakes: waiting would
// otherwise cost as much as the work.
func (g *Generator) wait(ctx context.Context, number int64) error {
	const shortest = 100 * time.Microsecond
	longer := min(g.maxAhead/2, 5*time.Millisecond)
	var timer *time.Timer
	for {
		lead := g.start(number) - g.clock.now()
		switch left := lead - g.maxAhead; {
		case left <= 0:
			return nil
		case left > g.maxWait:
			return g.late(number, lead) // set back further meanwhile
		case timer == nil:
			timer = time.NewTimer(max(left+longer, shortest))
			defer timer.Stop()
		default:
			timer.Reset(max(left+longer, shortest))
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

// rotateFrom starts the tick of now under the next rollback number, or lets
// another call do so. It reports false where that is not allowed: without
// Rotate, with all numbers used, or if no step of the clock but a burst took
// the numbers up to last (bursts reach maxLead and the tick after it).
func (g *Generator) rotateFrom(last int64, now time.Duration) bool {
	if !g.rotate || now < 0 || now >= g.end || g.start(last)-now <= g.maxLead+g.unit || g.rollbacksLeft(last) == 0 {
		return false
	}
	rollback := last>>g.counterBits + 1
	if g.last.CompareAndSwap(last, rollback<<g.counterBits+g.fresh(now, 1)) {
		g.log().Warn("idgen: the clock was set back; ids go on under the next rollback number",
			"generator", g.name, "worker", g.worker, "behind", g.start(last)-now, "rollback", rollback)
	}
	return true
}

func (g *Generator) rollbacksLeft(last int64) int64 {
	return int64(g.layout.rollback.max()) - last>>g.counterBits
}

// late returns the error for a call that would lead the clock by lead, and
// tells the log once when that makes the generator down.
func (g *Generator) late(last int64, lead time.Duration) error {
	if lead > g.maxBehind && g.downAt.Swap(last) != last {
		g.log().Error("idgen: down until the clock is back", "generator", g.name, "worker", g.worker, "behind", lead)
	}
	err := &ClockError{Behind: lead, RetryAfter: lead - g.maxAhead, MaxWait: g.maxWait}
	if g.rotate && g.rollbacksLeft(last) == 0 {
		err.Rollbacks = int(g.layout.rollback.max())
	}
	return err
}
