package idgen

// maxSpreadBits limits how many numbers of a long sequence the spread skips.
const maxSpreadBits = 12

// spread computes the offset at which the sequence of a new tick starts. The offset looks
// random, because at low rates most ticks have only one id. If every tick started at 0,
// all ids would be multiples of 2^sequenceBits, and id % N would send every row to one
// shard.
//
// If the generator is idle when a tick begins, the sequence numbers below the offset are
// skipped in this tick. On average that is half of the tick's numbers if the sequence has
// up to 12 bits, and 2,048 numbers if it has more. When no numbers are left in a tick,
// ids continue in the next tick. A generator at its maximum rate is never idle, so it
// skips nothing.
type spread struct {
	bits uint // 0: every tick starts at 0
	seed uint64
}

func newSpread(sequenceBits uint, seed uint64) spread {
	return spread{bits: min(sequenceBits, maxSpreadBits), seed: seed}
}

// at returns the offset of a tick: the upper bits of a hash (the finalizer of
// SplitMix64). The offsets are irregular even for regular ticks, such as the ticks of a
// job that runs each second.
func (s spread) at(tick int64) int64 {
	x := uint64(tick) + s.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return int64(x >> (64 - s.bits)) // a shift by 64 gives 0
}
