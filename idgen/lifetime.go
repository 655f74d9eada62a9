package idgen

import (
	"fmt"
	"math/bits"
	"time"
)

// maxSafeInteger is JavaScript's Number.MAX_SAFE_INTEGER, 2^53 - 1. Up to this limit, a
// float64 holds all integers exactly.
const maxSafeInteger = 1<<53 - 1

// A Lifetime is the time during which a layout can make ids.
type Lifetime struct {
	Start time.Time // the epoch
	End   time.Time // the end of the last tick with positive ids, at most 292 years after Start

	// SafeEnd is when ids may start to exceed 2^53-1, the largest integer that survives
	// in JavaScript, or End if that's earlier. Layouts with a wide time field and few
	// other bits have small ids for years. For example, with 55 bits of milliseconds and
	// 8 other bits they're safe until End.
	SafeEnd time.Time
}

// Lifetime returns the time during which the layout can make ids.
func (l Layout) Lifetime() Lifetime {
	end := l.maxTick() + 1
	low := uint64(1)<<l.time.shift - 1
	high := l.fixed &^ low // fixed fields above time
	var safe uint64
	if high|low <= maxSafeInteger {
		safe = (maxSafeInteger-high-low)>>l.time.shift + 1
	}
	return Lifetime{
		Start:   l.epoch,
		End:     l.timeOf(end),
		SafeEnd: l.timeOf(min(end, int64(safe))),
	}
}

// maxTick returns the last tick for which ids are made. All of its ids must be
// positive, and a time.Duration must be able to hold the time from the epoch to the end
// of the tick.
func (l Layout) maxTick() int64 {
	t := l.time.max()
	if l.time.shift+l.time.bits == 64 {
		t >>= 1
	}
	return min(t, int64(NoLimit/l.unit)-1)
}

// tick returns the tick of t, or an error if t is outside the layout's lifetime.
func (l Layout) tick(t time.Time) (int64, error) { return l.tickUpTo(l.maxTick(), t) }

// MinID returns the smallest id with the tick of t, for any values of the fields below
// time. Use it with [Layout.MaxID] to query a time range:
//
//	WHERE id BETWEEN MinID(from) AND MaxID(to)
//
// MinID returns an error if t is outside the layout's lifetime.
func (l Layout) MinID(t time.Time) (int64, error) {
	return l.edge(t, l.fixed&^(1<<l.time.shift-1))
}

// MaxID returns the largest id with the tick of t. See [Layout.MinID].
func (l Layout) MaxID(t time.Time) (int64, error) {
	return l.edge(t, l.fixed|(1<<l.time.shift-1))
}

// edge returns the id with the tick of t and these other bits.
func (l Layout) edge(t time.Time, others uint64) (int64, error) {
	tick, err := l.tick(t)
	if err != nil {
		return 0, err
	}
	return int64(l.time.put(tick) | others), nil
}

// Between returns the smallest and the largest id for ticks in the range [from, to). Use
// it to query rows by the time in their key:
//
//	WHERE id BETWEEN first AND last
//
// The database can find these rows with the key's index, without reading other
// partitions. If to is the zero time, there's no upper end. Times outside the layout's
// lifetime aren't an error, they just don't have any ids. If there can't be any rows,
// last is less than first.
func (l Layout) Between(from, to time.Time) (first, last int64) {
	life := l.Lifetime()
	if to.IsZero() || to.After(life.End) {
		to = life.End
	}
	if from.Before(life.Start) {
		from = life.Start
	}
	if !from.Before(to) {
		return 1, 0
	}
	first, _ = l.MinID(from)
	last, _ = l.MaxID(to.Add(-1))
	return first, last
}

// tickUpTo returns the tick of t, or an error if it is negative or after most.
func (l Layout) tickUpTo(most int64, t time.Time) (int64, error) {
	if !t.Before(l.epoch) {
		// We need 128 bits here, because a time.Duration can't exceed 292 years.
		seconds := uint64(t.Unix() - l.epoch.Unix())
		hi, lo := bits.Mul64(seconds, uint64(time.Second))
		lo, carry := bits.Add64(lo, uint64(t.Nanosecond()), 0)
		lo, borrow := bits.Sub64(lo, uint64(l.epoch.Nanosecond()), 0)
		if hi += carry - borrow; hi < uint64(l.unit) {
			if tick, _ := bits.Div64(hi, lo, uint64(l.unit)); tick <= uint64(most) {
				return int64(tick), nil
			}
		}
	}
	return 0, &timeError{t, l.Lifetime()}
}

// timeOf returns the start of a tick.
func (l Layout) timeOf(tick int64) time.Time {
	hi, lo := bits.Mul64(uint64(tick), uint64(l.unit))
	seconds, nanos := bits.Div64(hi, lo, uint64(time.Second)) // can't overflow, as NewLayout has checked
	return time.Unix(l.epoch.Unix()+int64(seconds), int64(l.epoch.Nanosecond())+int64(nanos)).UTC()
}

// A timeError is about a time outside a layout's lifetime.
type timeError struct {
	time time.Time
	life Lifetime
}

func (e *timeError) Error() string {
	return fmt.Sprintf("idgen: %s is outside the layout's lifetime (%s to %s); use a layout with another epoch or more time bits",
		e.time.UTC().Format(time.RFC3339Nano), e.life.Start.Format(time.RFC3339), e.life.End.Format(time.RFC3339))
}

// Start returns the first time with an id, for package autoinc.
func (e *timeError) Start() time.Time { return e.life.Start }
