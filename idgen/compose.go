package idgen

import (
	"fmt"
	"time"
)

// Parts are the fields of one id.
type Parts struct {
	Time     time.Time // the start of the id's tick, in UTC; Compose accepts any time within the tick
	Worker   int64
	Rollback int64
	Sequence int64
	Fixed    []int64 // values of the fixed fields, highest first; nil if there are none
}

// Decode returns the parts of an id. It's the inverse of [Layout.Compose]. Ids of a
// 64-bit layout are read as unsigned. For layouts with fewer bits, any higher bits are
// ignored.
func (l Layout) Decode(id int64) Parts {
	u := uint64(id)
	p := Parts{
		Time:     l.timeOf(l.time.get(u)),
		Worker:   l.worker.get(u),
		Rollback: l.rollback.get(u),
		Sequence: l.sequence.get(u),
	}
	for _, c := range l.constants {
		p.Fixed = append(p.Fixed, c.get(u))
	}
	return p
}

// Compose returns the id with these parts. It's the inverse of [Layout.Decode]. If
// p.Fixed is nil, fixed fields get the layout's own values. Parts are never truncated:
// you'll get an error if one doesn't fit its field.
func (l Layout) Compose(p Parts) (int64, error) {
	tick, err := l.tickUpTo(l.time.max(), p.Time)
	if err != nil {
		return 0, err
	}
	id := l.time.put(tick)
	put := func(name string, at span, v int64) {
		if err == nil {
			err = at.check(name, v)
		}
		id |= at.put(v)
	}
	put(workerField, l.worker, p.Worker)
	put(rollbackField, l.rollback, p.Rollback)
	put(sequenceField, l.sequence, p.Sequence)
	if len(p.Fixed) == 0 {
		id |= l.fixed
	} else if len(p.Fixed) != len(l.constants) {
		return 0, fmt.Errorf("idgen: Parts.Fixed has %d values but the layout has %d fixed fields; give one for each, or nil for the layout's own", len(p.Fixed), len(l.constants))
	}
	for i, v := range p.Fixed {
		put(l.constants[i].name, l.constants[i].span, v)
	}
	if err != nil {
		return 0, err
	}
	return int64(id), nil
}
