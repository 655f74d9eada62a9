package idgen

import (
	"cmp"
	"time"
)

// Compatible reports whether a table whose keys old made can go on with keys of
// l. It returns nil if and only if no id that l can make from the tick of from
// on, until the end of its lifetime, is one that old can make at any time of
// its whole lifetime, past or future, whatever worker, rollback number and
// sequence the two have. Otherwise the error is an [*OverlapError].
//
// The values of fixed fields are those of the two layouts. Whoever changes more
// than one layout, such as those of several data centres, asks for each pair.
func (l Layout) Compatible(old Layout, from time.Time) error {
	first := int64(0)
	if from.After(l.epoch) {
		var err error
		if first, err = l.tick(from); err != nil {
			return nil // l makes no ids that late
		}
	}
	// All ids of a layout are one pattern, because its ticks are all numbers of
	// so many bits. Its ids from a tick on are a few: the ticks from 5 to 15 are
	// 0101, 011x and 1xxx.
	theirs := old.pattern(0, old.maxTick()+1)
	end := l.maxTick() + 1
	for tick, count := first, int64(0); tick < end; tick += count {
		count = cmp.Or(tick&-tick, end)
		if id, ok := l.pattern(tick, count).meet(theirs); ok {
			return &OverlapError{ID: id, New: l.Decode(id), Old: old.Decode(id)}
		}
	}
	return nil
}

// A pattern is a set of ids: all that differ from base in free bits only. The
// free bits of base are 0.
type pattern struct{ base, free uint64 }

// pattern returns the ids of count ticks from the given one on. Count is a
// power of two that divides the tick.
func (l Layout) pattern(tick, count int64) pattern {
	return pattern{
		base: l.fixed | l.time.put(tick),
		free: l.time.put(count-1) | l.worker.mask() | l.rollback.mask() | l.sequence.mask(),
	}
}

// meet returns an id that is in both sets: there is one if they agree on the
// bits that are free in neither. 0 is no id.
func (p pattern) meet(q pattern) (id int64, ok bool) {
	if (p.base^q.base)&^(p.free|q.free) != 0 {
		return 0, false
	}
	both := p.base | q.base
	if both == 0 {
		free := p.free & q.free
		both = free & -free // the lowest of the bits that both can set
	}
	return int64(both), both != 0
}
