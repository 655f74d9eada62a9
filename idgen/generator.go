package idgen

import (
	"cmp"
	"context"
	"log/slog"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A Generator makes the ids of one named sequence of a [Pool]. Its ids are unique and
// strictly ascending, even if the clock goes back. There are two exceptions to the order,
// though. With [Config.Rotate], the generator continues with smaller ids after the clock
// was set back. And when the pool had to claim a new lease, ids might start lower than
// they were under the previous lease, if the clock was ahead at the time.
//
// A Generator is safe for concurrent use. Use [Pool.Named] to get one; the zero Generator
// isn't valid.
type Generator struct {
	// Next reads the fields up to clock.due, those of the tenure up to ticksAhead, and
	// those of core up to end. They are together, because after a pause each cache line
	// costs a call more than its instructions. What Next does by hand is worth this, in
	// parts of the time that bwmarrin's takes at 1 and 16 ids in each millisecond:
	//
	//	fields that are read together stand together        0.07   0.05
	//	ticks are compared instead of times                 0.09   0.06
	//	the clock is read here instead of by clock.now      0.03   0.03
	//	the tenure is found before the clock is read        0.01   0.03
	//
	// With all of them it takes 1.02 and 0.97 (see bench/RESULTS.md), without any 1.14 and 1.11.
	*core
	tenure atomic.Pointer[tenure] // the current one, or the last one, which is sealed

	// skipped is such that last - skipped ids were issued, or -skipped once the tenure is
	// sealed. A call that skips numbers adds them before it swaps last. That way, a reader
	// that reads last first may count too few ids, but never too many.
	skipped atomic.Int64

	clock  clock
	name   string
	downAt atomic.Int64 // the last number when the generator most recently logged that it is down
}

// core is what all generators of a pool share. After NewPool, only the fields from mu on
// change.
type core struct {
	spans             // of the layout
	counterBits uint8 // the bits of a number below the rollback number

	// tick multiplies by inverse and shifts instead of dividing by the unit.
	inverseShift uint8
	inverse      uint64

	spread spread
	end    time.Duration // the end of the layout's last tick, since the epoch
	unit   time.Duration // of the layout
	limit  int64         // the layout's last counter, which is never issued

	cfg     Config        // with defaults
	maxLead time.Duration // MaxAhead + MaxWait
	keeper  leased.Keeper // nil unless the pool is leased

	// life ends once all tenures are sealed for good. Its cause is the error of later calls.
	life context.Context
	stop context.CancelCauseFunc

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever a tenure begins, ends or is extended
	reason  error         // why there is no tenure, or why it could not be extended

	waits, leaseWaits waitCount
	clockErrors       atomic.Int64
}

// log returns the logger for the next message. We can't keep slog.Default, because a
// program may call slog.SetDefault after NewPool.
func (c *core) log() *slog.Logger { return cmp.Or(c.cfg.Logger, slog.Default()) }

// setUnit chooses the inverse for which tick is exact up to 2^63 - 1 ns. This is
// figure 4.1 of Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication" (1994), with dividends of 63 bits.
func (c *core) setUnit(unit time.Duration) {
	size := bits.Len64(uint64(unit) - 1)
	high, low := bits.Mul64(1<<63, 1<<size)
	inverse, _ := bits.Div64(high, low, uint64(unit))
	c.inverse, c.inverseShift = inverse+1, uint8(size)
}

// tick returns the tick of a time since the epoch, which must not be negative.
func (c *core) tick(now time.Duration) int64 {
	high, _ := bits.Mul64(uint64(now)<<1, c.inverse)
	return int64(high >> (c.inverseShift & 63))
}

// Next returns one id. It waits for a clock that's too far behind until ctx ends, but no
// longer than [Config.MaxWait]. It also waits, until ctx ends, if a leased pool currently
// has no lease or has to renew it first.
//
// The error is a [*ClockError], [ErrLayoutExhausted] or [ErrClosed]. If ctx ends during a
// wait, it's the error of ctx along with the reason for waiting. It can also be a
// *lease.BlockedError, which is returned after snowkey.Config.MaxBlocked.
func (g *Generator) Next(ctx context.Context) (int64, error) {
	// This is reserve for calls that need not wait, and as long as the rollback number
	// is 0. If another call takes a number first, we try the number after it. We don't
	// read the clock again, because that is the larger part of what an id costs.
	t := g.tenure.Load()                 // before the clock, so that the cache fetches more at the same time
	elapsed := time.Since(g.clock.start) // this is clock.now, which the compiler does not inline
	now := time.Duration(g.clock.offset.Load()) + elapsed
	if int64(elapsed) >= g.clock.due.Load() {
		now = g.clock.resync()
	}
	if now < 0 || now >= g.end {
		return g.nextSlowly(ctx)
	}
	tick := g.tick(now)
	for {
		last := t.last.Load()
		number := last + 1
		at := number >> (g.sequence.bits & 63)
		if at < tick { // the tick of number has ended
			at, number = tick, tick<<(g.sequence.bits&63)+g.spread.at(tick)
		}
		// A number with a rollback number is above any bound.
		if last < 0 || number >= t.bound.Load() || at-tick > t.ticksAhead {
			return g.nextSlowly(ctx)
		}
		if g.take(t, last, number, number) {
			return g.id(t.shared, number), nil
		}
	}
}

func (g *Generator) nextSlowly(ctx context.Context) (int64, error) {
	t, first, err := g.reserve(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.id(t.shared, first), nil
}

// maxBatch bounds the memory that one call can take.
const maxBatch = 1 << 24

// Append reserves n ids in one step, appends them to dst in ascending order and returns
// the extended slice. No other call gets an id in between. It waits in the same cases as
// [Generator.Next] and returns the same errors, plus a [*CountError] if n is negative or
// above 16,777,216, or if n ids need more ticks than [Config.MaxAhead] and MaxWait allow.
// On error, dst is unchanged.
func (g *Generator) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	most := int64(maxBatch)
	if ticks := max(g.maxLead/max(g.unit, 1), 1); int64(ticks) < maxBatch>>g.sequence.bits {
		most = int64(ticks) << g.sequence.bits
	}
	switch {
	case n < 0 || int64(n) > most:
		return dst, &CountError{Count: int64(n), Max: most}
	case n == 0:
		return dst, nil
	}
	t, number, err := g.reserve(ctx, int64(n))
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = slices.Grow(dst, n)[:start+n]
	g.fill(dst[start:], t.shared, number)
	return dst, nil
}

// fill sets ids to the ids of consecutive numbers, starting with number. Within a tick,
// they are one step of the sequence field apart.
func (g *Generator) fill(ids []int64, shared uint64, number int64) {
	step, highest := int64(g.sequence.put(1)), g.sequence.max()
	for len(ids) > 0 {
		run := min(int64(len(ids)), highest-number&highest+1)
		id := g.id(shared, number)
		for i := range ids[:run] {
			ids[i] = id
			id += step
		}
		ids = ids[run:]
		number += run
	}
}

// NextN returns n new ids in ascending order. See [Generator.Append].
func (g *Generator) NextN(ctx context.Context, n int) ([]int64, error) { return g.Append(ctx, nil, n) }

// reserve takes n consecutive numbers of the tenure and returns the first of them once
// the clock is within maxAhead of the last.
//
// Invariant: t.last only grows, and the call that swaps it from a to b owns the numbers
// in (a, b], so no two calls can get the same number. A call doesn't wait for the clock
// until it has swapped t.last, which means that it can't delay other calls. If the wait
// fails, its numbers are never used.
func (g *Generator) reserve(ctx context.Context, n int64) (t *tenure, first int64, err error) {
	for {
		t = g.tenure.Load()
		now := g.clock.now()
		last := t.last.Load()
		first = g.next(last, n, now)
		if counter := g.counter(first); last < 0 || n > t.bound.Load()-counter {
			if last >= 0 && n > g.limit-counter {
				return nil, 0, ErrLayoutExhausted
			}
			if err := g.await(ctx, t, n); err != nil {
				return nil, 0, err
			}
			continue
		}
		final := first + n - 1
		lead := g.lead(final, now)
		if lead > t.maxLead {
			if g.rotateFrom(t, last, now) {
				continue
			}
			return nil, 0, g.late(t, last, lead)
		}
		if lead > t.maxAhead && ctx.Err() != nil {
			return nil, 0, waitError(ctx)
		}
		if !g.take(t, last, first, final) {
			continue
		}
		if lead > t.maxAhead {
			return t, first, g.wait(ctx, t, final)
		}
		return t, first, nil
	}
}

// take swaps the last number of t to final, on behalf of a call that issues the numbers
// from first to final. It reports false if another call was faster.
func (g *Generator) take(t *tenure, last, first, final int64) bool {
	skipped := first - last - 1
	if skipped != 0 {
		g.skipped.Add(skipped)
	}
	if t.last.CompareAndSwap(last, final) {
		return true
	}
	if skipped != 0 {
		g.skipped.Add(-skipped)
	}
	return false
}

// next returns max(last+1, now<<seqBits | spread), or limit if the clock is past the
// end of the layout.
func (c *core) next(last, n int64, now time.Duration) int64 {
	rollback := last - c.counter(last)
	switch {
	case now < 0:
		return last + 1
	case now >= c.end:
		return rollback + c.limit
	}
	return max(last+1, rollback+c.fresh(now, n))
}

// fresh returns the counter at which a call for n ids starts in the tick of now.
func (c *core) fresh(now time.Duration, n int64) int64 {
	tick := c.tick(now)
	// If n ids fit into one tick, start low enough that they all do.
	room := max(c.sequence.max()+1-n, 0)
	return tick<<c.sequence.bits + min(c.spread.at(tick), room)
}

// counter strips the rollback number from number.
func (c *core) counter(number int64) int64 { return number & (1<<(c.counterBits&63) - 1) }

// start returns the start of the tick of number, as the time since the epoch.
func (c *core) start(number int64) time.Duration {
	return time.Duration(c.counter(number)>>(c.sequence.bits&63)) * c.unit
}

// id returns the id made from number, where shared are the bits that all ids of the
// tenure have in common.
func (c *core) id(shared uint64, number int64) int64 {
	return int64(shared |
		c.rollback.put(number>>(c.counterBits&63)) |
		c.time.put(c.counter(number)>>(c.sequence.bits&63)) |
		c.sequence.put(number&c.sequence.max()))
}

// lead returns how far the tick of number is ahead of the clock, or NoLimit if a
// time.Duration can't hold that.
func (c *core) lead(number int64, now time.Duration) time.Duration {
	if now < 0 {
		return saturatingAdd(c.start(number), -now)
	}
	return c.start(number) - now
}

// rotateFrom continues at the current tick with the next rollback number, unless
// another call has just done so. It returns false if Rotate is off, if all rollback
// numbers are used, or if last is ahead because of a burst of calls rather than because
// the clock was set back. Note that a burst can reach maxLead and the tick after it.
func (g *Generator) rotateFrom(t *tenure, last int64, now time.Duration) bool {
	if !g.cfg.Rotate || now < 0 || now >= g.end || g.start(last)-now-g.unit <= t.maxLead || g.rollbacksLeft(last) == 0 {
		return false
	}
	rollback := last>>g.counterBits + 1
	fresh := rollback<<g.counterBits + g.fresh(now, 1)
	if g.take(t, last, fresh+1, fresh) {
		g.log().Warn("idgen: the clock was set back; ids continue with the next rollback number",
			"generator", g.name, "worker", t.worker, "behind", g.start(last)-now, "rollback", rollback)
	}
	return true
}

func (g *Generator) rollbacksLeft(last int64) int64 {
	return g.rollback.max() - last>>g.counterBits
}

// late returns the error for a call whose id would be ahead of the clock by lead. If
// this means that the generator is down, late logs that, but only once.
func (g *Generator) late(t *tenure, last int64, lead time.Duration) error {
	if lead > g.cfg.MaxBehind && g.downAt.Swap(last) != last {
		g.log().Error("idgen: down until the clock has caught up", "generator", g.name, "worker", t.worker, "behind", lead)
	}
	if g.keeper != nil && g.clock.correction.Load() != 0 {
		g.keeper.RenewSoon() // the host's clock may be right again, in which case the correction is wrong
	}
	g.clockErrors.Add(1)
	err := &ClockError{Behind: lead, RetryAfter: lead - t.maxAhead, MaxWait: g.cfg.MaxWait}
	if g.cfg.Rotate && g.rollbacksLeft(last) == 0 {
		err.Rollbacks = int(g.rollback.max())
	}
	return err
}
