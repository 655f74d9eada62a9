package idgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A Generator makes the ids of one named sequence of a [Pool]. Its ids are
// unique and strictly ascending, even if the clock goes back. There are two
// exceptions to the order. With [Config.Rotate], the generator continues with smaller
// ids after the clock was set back. After the pool has claimed a new lease, ids may
// start lower than under the previous lease if the clock was ahead at that time.
//
// A Generator is safe for concurrent use. [Pool.Named] returns generators; the zero
// Generator is not valid.
type Generator struct {
	*core
	name   string
	downAt atomic.Int64 // the last number when the generator most recently logged that it is down
	seq    atomic.Pointer[sequence]

	unordered atomic.Pointer[Unordered] // nil before the first call of Unordered

	// These are guarded by the mutex of the pool.
	before  int64     // ids issued under all sealed sequences but the last
	retired *sequence // the sequence that was sealed last; nil if there is none
}

// A sequence is the state of a generator in one tenure. Each tenure begins with a new
// sequence, so that no call can mix the states of two tenures.
type sequence struct {
	*tenure

	_ cacheLine
	// last is the last number that a call has taken. It is the only state:
	//
	//	rollback | tick | sequence      the lower two are the counter
	//
	// It only grows. A negative number means that the sequence is sealed.
	last atomic.Int64
	_    cacheLine

	// skipped is how many numbers above start and up to last were not issued. A call that
	// skips numbers adds them before it swaps last, so a reader that reads last first
	// never counts too many ids. See issued.
	skipped atomic.Int64
	end     int64 // last when the sequence was sealed
}

// cacheLine separates the fields that each call writes from those that it reads.
type cacheLine [64]byte

// core is what the generators of one pool share. After NewPool, only the clock and
// tenures change. They have their own locks and atomic fields.
type core struct {
	layout Layout
	end    time.Duration // the end of the layout's last tick, since the epoch

	unit                                  time.Duration
	maxAhead, maxWait, maxLead, maxBehind time.Duration // maxLead = maxAhead + maxWait
	rotate                                bool
	spread                                spread

	// The positions of the parts in a number and in an id. The code shifts by shift&63,
	// because the compiler then needs only one instruction for the shift.
	seqBits, counterBits               uint
	seqMask, counterMask               int64
	timeShift, seqShift, rollbackShift uint

	clock *clock
	log   logger
	tenures

	waits, leaseWaits waitCount
	clockErrors       atomic.Int64
}

// Next returns one id. If the clock is behind, Next waits for it until ctx ends. The
// wait is at most [Config.MaxWait]. If the pool is leased and has no lease at the moment,
// or its lease must be renewed first, Next waits for that until ctx ends.
//
// The error is a [*ClockError], [ErrLayoutExhausted], [ErrClosed], or the error of
// ctx together with the reason for the wait.
func (g *Generator) Next(ctx context.Context) (int64, error) {
	// The fast path takes the next number if its tick is current or not too far ahead. If
	// another call takes that number first, the loop tries the following number. It does
	// not read the clock again, because reading the clock is the larger part of the cost
	// of an id.
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
// Invariant: s.last only grows, and the call that swaps it from a to b owns the
// numbers in (a, b]. So no two calls get the same number. A call waits for the clock only
// after it has swapped s.last, so it does not delay other calls. If it returns an error
// from this wait, its numbers are never used.
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
		lead := g.lead(final, now)
		if lead > s.maxLead {
			if g.rotateFrom(s, last, now) {
				continue
			}
			return nil, 0, g.late(s, last, lead)
		}
		if lead > s.maxAhead && ctx.Err() != nil {
			return nil, 0, waitError(ctx)
		}
		if !s.take(last, first, final) {
			continue
		}
		if lead > s.maxAhead {
			return s, first, g.wait(ctx, s, final)
		}
		return s, first, nil
	}
}

// take swaps last from a number to final, for a call that issues the numbers from first to
// final. It reports false if another call was faster.
func (s *sequence) take(last, first, final int64) bool {
	skipped := first - last - 1
	if skipped == 0 {
		return s.last.CompareAndSwap(last, final)
	}
	s.skipped.Add(skipped)
	if s.last.CompareAndSwap(last, final) {
		return true
	}
	s.skipped.Add(-skipped)
	return false
}

// next returns max(last+1, now<<seqBits | spread), or limit if the clock is past the
// end of the layout.
func (c *core) next(last, n int64, now time.Duration) int64 {
	next := last + 1
	if now < c.unit || c.start(next) > now-c.unit {
		return next // the tick of next has not ended, so no division is necessary
	}
	rollback := last - c.counter(last)
	if now >= c.end {
		return rollback + c.limit
	}
	return rollback + c.fresh(now, n)
}

// fresh returns the counter at which n ids start in the tick of now.
func (c *core) fresh(now time.Duration, n int64) int64 {
	tick := int64(now / c.unit)
	// If n ids fit into one tick, start low enough for all of them.
	room := max(1<<c.seqBits-n, 0)
	return tick<<c.seqBits + min(c.spread.at(tick), room)
}

// counter returns number without its rollback number.
func (c *core) counter(number int64) int64 { return number & c.counterMask }

// start returns when the tick of number begins, since the epoch.
func (c *core) start(number int64) time.Duration {
	return time.Duration(c.counter(number)>>(c.seqBits&63)) * c.unit
}

// lead returns how far the tick of number is ahead of the clock, or NoLimit if that is
// too much for a time.Duration.
func (c *core) lead(number int64, now time.Duration) time.Duration {
	if now < 0 {
		return saturatingAdd(c.start(number), -now)
	}
	return c.start(number) - now
}

// id returns the id of a number.
func (c *core) id(t *tenure, number int64) int64 {
	return int64(t.shared |
		uint64(number)>>(c.counterBits&63)<<(c.rollbackShift&63) |
		uint64(number&c.counterMask)>>(c.seqBits&63)<<(c.timeShift&63) |
		uint64(number&c.seqMask)<<(c.seqShift&63))
}

// wait returns when the clock is within maxAhead of number, which the caller owns.
//
// The clock may be stepped, be corrected or stand still during a sleep. So wait reads
// the clock after each sleep, and no sleep is longer than resyncEvery. Each sleep is a
// little longer than necessary. Otherwise a generator at its maximum rate would wake a
// call for every few numbers, and waking a call costs more than making an id.
func (g *Generator) wait(ctx context.Context, s *sequence, number int64) error {
	const shortest = 100 * time.Microsecond
	longer := min(g.maxAhead/2, 5*time.Millisecond)
	var timer *time.Timer
	for {
		lead := g.lead(number, g.clock.now())
		left := lead - s.maxAhead
		switch {
		case left <= 0:
			return nil
		case left > g.maxWait:
			return g.late(s, number, lead) // the clock was set back during the wait
		}
		nap := min(max(left+longer, shortest), resyncEvery)
		if timer == nil {
			timer = time.NewTimer(nap)
			defer timer.Stop()
			defer g.waits.begin()()
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

// seal ends the sequence and returns the last number that a call has taken.
func (g *Generator) seal() (last int64) {
	s := g.seq.Load()
	last = s.last.Swap(sealed)
	if last >= 0 {
		s.end = last
		g.retire(s)
	}
	if u := g.unordered.Load(); u != nil { // a later Unordered has no block and finds the seal
		u.seal()
	}
	return last
}

// rotateFrom continues at the current tick with the next rollback number, unless another
// call has just done so. It returns false if Rotate is off, or if all rollback numbers
// are used. It also returns false if last is ahead because of a burst of calls and not
// because the clock was set back. A burst can reach maxLead and the tick after it.
func (g *Generator) rotateFrom(s *sequence, last int64, now time.Duration) bool {
	if !g.rotate || now < 0 || now >= g.end || g.start(last)-now-g.unit <= s.maxLead || g.rollbacksLeft(last) == 0 {
		return false
	}
	rollback := last>>g.counterBits + 1
	fresh := rollback<<g.counterBits + g.fresh(now, 1)
	if s.take(last, fresh+1, fresh) {
		g.log().Warn("idgen: the clock was set back; ids continue with the next rollback number",
			"generator", g.name, "worker", s.worker, "behind", g.start(last)-now, "rollback", rollback)
	}
	return true
}

func (g *Generator) rollbacksLeft(last int64) int64 {
	return int64(g.layout.rollback.max()) - last>>g.counterBits
}

// late returns the error for a call whose id would be ahead of the clock by lead. If
// the generator is down, it logs that once.
func (g *Generator) late(s *sequence, last int64, lead time.Duration) error {
	if lead > g.maxBehind && g.downAt.Swap(last) != last {
		g.log().Error("idgen: down until the clock has caught up", "generator", g.name, "worker", s.worker, "behind", lead)
	}
	if g.keeper != nil && g.clock.correction.Load() != 0 {
		g.keeper.RenewSoon() // the host's clock may be right again, and the correction wrong
	}
	g.clockErrors.Add(1)
	err := &ClockError{Behind: lead, RetryAfter: lead - s.maxAhead, MaxWait: g.maxWait}
	if g.rotate && g.rollbacksLeft(last) == 0 {
		err.Rollbacks = int(g.layout.rollback.max())
	}
	return err
}
