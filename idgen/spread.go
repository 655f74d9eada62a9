package idgen

// maxSpreadBits limits what the spread takes of a long sequence.
const maxSpreadBits = 12

// spread begins the sequence of a fresh tick at an offset that looks random,
// instead of 0. At low rates, where most ticks have one id, ids would otherwise
// all be multiples of 2^sequenceBits, and id % N would send every row to one
// shard.
//
// It costs sequence numbers of ticks that begin idle: half of them on average
// where the sequence has up to 12 bits, 2,048 of 2^b where it has b more. A tick
// that runs out early borrows from the next. A generator at its ceiling never
// begins an idle tick, and so pays nothing.
type spread struct {
	bits uint // 0: every tick begins at 0
	seed uint64
}

func newSpread(sequenceBits uint, seed uint64) spread {
	return spread{bits: min(sequenceBits, maxSpreadBits), seed: seed}
}

// at returns the offset for a tick: the upper bits of a mix (the finaliser of
// SplitMix64), which also makes regular ticks, as of a job each second,
// irregular.
func (s spread) at(tick int64) int64 {
	x := uint64(tick) + s.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return int64(x >> (64 - s.bits)) // a shift by 64 gives 0
}
