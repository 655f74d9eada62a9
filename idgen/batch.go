package idgen

import (
	"context"
	"slices"
)

// maxBatch bounds the memory that one call can take.
const maxBatch = 1 << 24

// Append reserves n ids in one step, appends them to dst in ascending order and returns
// the extended slice. No other call gets an id in between. It waits in the same cases as
// [Generator.Next] and returns the same errors, plus a [*CountError] if n is negative or
// above 16,777,216, or if n ids need more ticks than [Config.MaxAhead] and MaxWait allow.
// On error, dst is unchanged.
func (g *Generator) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	most := int64(maxBatch)
	if ticks := max(g.maxLead/max(g.unit, 1), 1); int64(ticks) < maxBatch>>g.seqBits {
		most = int64(ticks) << g.seqBits
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
	step := int64(1) << g.seqShift
	for len(ids) > 0 {
		run := min(int64(len(ids)), 1<<g.seqBits-g.sequence(number))
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
