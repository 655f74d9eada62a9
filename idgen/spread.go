package idgen

// maxSpreadBits limits how many numbers the spread may skip in a long sequence.
const maxSpreadBits = 12

// spread computes the offset at which the sequence of a new tick starts. The offset
// must look random, because at low rates most ticks have only one id. If every tick
// started at 0, all ids would then be multiples of 2^sequenceBits, and if N is a power
// of two up to that, id % N would send every row to the same shard.
//
// If the generator is idle when a tick begins, we lose the sequence numbers below the
// offset in this tick. On average that is half of the tick's numbers if the sequence
// has up to 12 bits, and 2,048 numbers if it has more. Once no numbers are left in a
// tick, ids simply continue in the next one. A generator at its maximum rate is never
// idle, so it loses nothing. The zero spread has the offset 0 for each tick.
type spread struct {
	seed  uint64 // an odd random number
	shift uint8  // 63 - the bits of the offset
}

func newSpread(sequenceBits uint8, seed uint64) spread {
	return spread{shift: 63 - min(sequenceBits, maxSpreadBits), seed: seed | 1}
}

// at returns the offset of a tick, which is made of the upper bits of a hash. This makes
// the offsets irregular even if the ticks are regular, for instance because a job runs
// once a second. The hash is short and multiplies by the seed rather than by constants,
// because code takes cache lines too.
func (s spread) at(tick int64) int64 {
	x := uint64(tick) * s.seed
	x = (x ^ x>>32) * s.seed
	return int64(x >> 1 >> (s.shift & 63))
}
