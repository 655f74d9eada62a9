package idgen

import (
	"cmp"
	"iter"
	"time"
)

// Compatible reports whether a table with keys of the layout old can continue with
// keys of l. It compares the ids that l can make from the tick of from until its end
// with the ids that old can make in its whole lifetime. It considers all worker
// numbers, rollback numbers and sequences, and the fixed values of the two layouts. If
// the two have no id in common, it returns nil. Otherwise it returns an
// [*OverlapError].
//
// If you change several layouts, for instance one for each data center, call
// Compatible for each pair.
func (l Layout) Compatible(old Layout, from time.Time) error {
	first := int64(0)
	if from.After(l.epoch) {
		var err error
		if first, err = l.tick(from); err != nil {
			return nil // l makes no ids that late
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

// patterns returns the ids of all ticks from first until the last. These are a few
// patterns: the ticks from 5 to 14 are 0101, 011x, 10xx, 110x and 1110. Usually the last
// tick has all bits set. In a wide time field it has not, because it is the last one that
// a Duration can hold.
func (l Layout) patterns(first int64) iter.Seq[pattern] {
	return func(yield func(pattern) bool) {
		end := l.maxTick() + 1
		for tick, count := first, int64(0); tick < end; tick += count {
			count = cmp.Or(tick&-tick, 1<<62)
			for count > end-tick {
				count >>= 1
			}
			if !yield(l.pattern(tick, count)) {
				return
			}
		}
	}
}

// A pattern is the set of ids that differ from base only in the bits of free. These
// bits are 0 in base.
type pattern struct{ base, free uint64 }

// pattern returns the ids of count ticks, starting with the given one. Count is a
// power of two that divides the tick.
func (l Layout) pattern(tick, count int64) pattern {
	return pattern{
		base: l.fixed | l.time.put(tick),
		free: l.time.put(count-1) | l.worker.mask() | l.rollback.mask() | l.sequence.mask(),
	}
}

// meet returns an id that is in both sets. There is one if the bases are equal in the
// bits that are free in neither. The number 0 is no id.
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
