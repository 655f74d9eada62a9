package idgen

import (
	"cmp"
	"iter"
	"time"
)

// Compatible checks whether a table whose keys use the layout old can continue with keys
// of l. It compares the ids that l can make from the tick of from to its end with those
// that old can make during its whole lifetime, for all worker numbers, rollback numbers
// and sequences, and with the fixed values of both layouts. It returns nil if they have
// no ids in common, and an [*OverlapError] otherwise.
//
// If you're changing several layouts (one per data center, for example), call Compatible
// for each pair.
func (l Layout) Compatible(old Layout, from time.Time) error {
	first := int64(0)
	if from.After(l.epoch) {
		var err error
		if first, err = l.tick(from); err != nil {
			return nil // from is past the end of l, so l makes no ids at all
		}
	}
	for theirs := range old.patterns(0) {
		for ours := range l.patterns(first) {
			if id, ok := ours.meet(theirs); ok {
				return &OverlapError{ID: id, New: l.Decode(id), Old: old.Decode(id)}
			}
		}
	}
	return nil
}

// patterns returns the ids of all ticks from first to the last one. It takes only a few
// patterns to cover them. For instance, the ticks from 5 to 14 are 0101, 011x, 10xx,
// 110x and 1110. Note that the last tick doesn't always have all bits set. If the time
// field is very wide, the lifetime ends with the last tick that a Duration can hold.
func (l Layout) patterns(first int64) iter.Seq[pattern] {
	return func(yield func(pattern) bool) {
		end := l.maxTick() + 1
		for tick, count := first, int64(0); tick < end; tick += count { // count is a power of two that divides tick
			count = cmp.Or(tick&-tick, 1<<62)
			for count > end-tick {
				count >>= 1
			}
			free := l.time.put(count-1) | l.worker.mask() | l.rollback.mask() | l.sequence.mask()
			if !yield(pattern{l.fixed | l.time.put(tick), free}) {
				return
			}
		}
	}
}

// A pattern is the set of ids that differ from base only in the bits of free, which
// must all be 0 in base.
type pattern struct{ base, free uint64 }

// meet returns an id that is in both sets, if there is one. The bases must agree in
// every bit that neither set leaves free. We also have to avoid 0, because it is not a
// valid id.
func (p pattern) meet(q pattern) (id int64, ok bool) {
	if (p.base^q.base)&^(p.free|q.free) != 0 {
		return 0, false
	}
	both := p.base | q.base
	if both == 0 {
		free := p.free & q.free
		both = free & -free // the lowest bit that both can set
	}
	return int64(both), both != 0
}
