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
	for theirs, free := range old.patterns(0) {
		for ours, open := range l.patterns(first) {
			id := ours | theirs
			if id == 0 { // not a valid id, so take the lowest bit that both can set
				id = free & open & -(free & open)
			}
			if (ours^theirs)&^(free|open) == 0 && id != 0 { // they agree in the other bits
				return &OverlapError{ID: int64(id), New: l.Decode(int64(id)), Old: old.Decode(int64(id))}
			}
		}
	}
	return nil
}

// patterns returns the ids of all ticks from first to the last one, as sets of ids that
// differ from base only in the bits of free, which are 0 in base. It takes only a few
// patterns to cover them. For instance, the ticks from 5 to 14 are 0101, 011x, 10xx, 110x
// and 1110. Note that the last tick doesn't always have all bits set. If the time field is
// very wide, the lifetime ends with the last tick that a Duration can hold.
func (l Layout) patterns(first int64) iter.Seq2[uint64, uint64] {
	return func(yield func(base, free uint64) bool) {
		end := l.maxTick() + 1
		for tick, count := first, int64(0); tick < end; tick += count { // count is a power of two that divides tick
			count = cmp.Or(tick&-tick, 1<<62)
			for count > end-tick {
				count >>= 1
			}
			free := l.time.put(count-1) | l.worker.mask() | l.rollback.mask() | l.sequence.mask()
			if !yield(l.fixed|l.time.put(tick), free) {
				return
			}
		}
	}
}
