package idgen

import (
	"context"
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// An Unordered draws from a [Generator] for many goroutines at once: they meet on
// no cache line, and while they draw fast they do not look at the clock for each
// id. The ids are unique, also beside those that the generator hands out itself.
// What is given up is their order: of two calls one after the other, the second
// may get the smaller id. And the time that they carry is not always that of now:
//
//   - The tick of an id is that of its call, or was over for 2 ms at most. As any
//     id's it can be ahead, by [Config.MaxAhead].
//   - For that, the runtime must run a timer within a millisecond. If it does not,
//     or the whole process was stopped, each goroutine gets at most what is left of
//     its block of that time, 32 ids of [DefaultLayout] and never more than 1,024.
//     The call after that looks at the clock, and from then on no other goroutine
//     gets such an id either.
//   - While no goroutine draws a whole block within a tick, each call looks at the
//     clock, and nothing of this applies.
//
// Nothing runs while nobody draws. Append is that of the generator: its ids ascend.
//
// An Unordered is safe for concurrent use. The zero Unordered is not valid:
// [Generator.Unordered] makes them.
type Unordered struct {
	// lanes are the blocks that are drawn from. A goroutine finds its own by where
	// its stack is: that is free, stays the same for long, and differs from that of
	// every other goroutine. Two in one lane are slower, and no less right.
	lanes [laneCount]atomic.Pointer[block]

	g     *Generator
	size  int64 // how many numbers a block has at most; 0 where a tick has too few for blocks
	shift uint  // that of the sequence field

	// fresh is the first number that may be drawn without a look at the clock, or
	// never. Who sets it to a number starts timer, which sets it back to never. Who
	// sets it has the calls on older blocks look at the clock.
	fresh atomic.Int64
	timer *time.Timer

	mark atomic.Int64 // see busy
}

const (
	laneBits  = 6
	laneCount = 1 << laneBits

	// maxBlock is how many numbers a block has where they are plenty. More make no
	// call faster, and let a process that was stopped go on with more old ones.
	maxBlock = 1024

	never = math.MaxInt64
	over  = 1 << 62 // more than a block has
)

// A block is a run of numbers of one tick that were taken from the generator's
// sequence together, and so are nobody else's.
//
// Invariant: below count, next only grows, and the call that moves it from a to a+1
// alone owns the place a. Places from count on are nothing.
type block struct {
	next   atomic.Int64 // the place to hand out next
	swift  atomic.Int64 // below it, no call looks at the clock; count, or 0
	count  int64        // how many numbers there are
	number int64        // the first
	id     int64        // that of the first; the others follow by one step of the sequence field

	_ [128 - 40]byte // processors fetch lines of 64 bytes in pairs
}

// at returns the id of a place.
func (b *block) at(place int64, shift uint) int64 { return b.id + place<<(shift&63) }

// end ends b: once it returns, no place of b is handed out.
func (b *block) end() { b.next.Store(over) }

// Unordered returns the generator's Unordered, the same one for every call.
func (g *Generator) Unordered() *Unordered {
	if u := g.unordered.Load(); u != nil {
		return u
	}
	g.unordered.CompareAndSwap(nil, newUnordered(g))
	return g.unordered.Load()
}

func newUnordered(g *Generator) *Unordered {
	u := &Unordered{g: g, shift: g.seqShift}
	// Blocks in all lanes take half of a tick at most, so that those that are not
	// used up cost a generator no more than that.
	if size := (g.seqMask + 1) / 2 / laneCount; size >= 8 {
		u.size = min(size, maxBlock)
	}
	u.timer = time.AfterFunc(time.Hour, u.shut)
	u.timer.Stop()
	u.seal() // no lane is empty from here on
	u.shut()
	return u
}

// Next returns one id. It waits and fails as [Generator.Next] does.
//
// This is the whole of the fast way: a place in the block of one's lane, and the
// question whether it may be handed out as it is. It has one atomic addition and
// takes 1.3 times as long as that alone (2.8 and 2.1 ns on an EPYC of 2022), or up to
// twice as long while the core's other hyperthread is busy. On two cores it is 2.1
// to 2.6 times as fast as an addition that both contend for.
func (u *Unordered) Next(ctx context.Context) (int64, error) {
	here := uint64(uintptr(unsafe.Pointer(&ctx))) // on this goroutine's stack; stacks are multiples of 2 KB
	lane := here >> 11 * 0x9e3779b97f4a7c15 >> (64 - laneBits)
	b := u.lanes[lane].Load()
	place := b.next.Add(1) - 1
	if place < b.swift.Load() {
		return b.at(place, u.shift), nil
	}
	return u.draw(ctx, lane, b, place)
}

// draw returns an id to a call that got the place of b, which may be none or too
// old: that place, or the first of a new block, or what the generator's Next does.
// Only the last waits or fails.
//
// Invariant: a sealed sequence has no block. A block comes into its lane only in
// place of b, which its call found there before it took the numbers. The seal
// first takes the sequence, and then leaves in each lane a block that nobody has
// seen. So numbers taken before it are in the lane, and end; or are too late; and
// later ones cannot be taken. All of them are below what the seal calls unused.
func (u *Unordered) draw(ctx context.Context, lane uint64, b *block, place int64) (int64, error) {
	g := u.g
	s, fresh := g.seq.Load(), u.fresh.Load()
	if place < b.count {
		if lead := g.start(b.number) - g.clock.now(); -g.unit < lead && lead <= s.maxAhead {
			return b.at(place, u.shift), nil
		}
		b.end() // its tick is over: what is left of it is a gap
	}
	last := s.last.Load()
	if fresh == never && !u.busy(last) {
		return g.Next(ctx)
	}
	first, count := g.takeBlock(s, last, u.size, g.clock.now())
	if count == 0 {
		return g.Next(ctx)
	}
	if place == b.count {
		u.open(fresh, first&^g.seqMask)
	}
	mine := u.block(s, first, count)
	u.put(lane, b, mine)
	return mine.id, nil
}

// block returns a block of count numbers from first on, which is the caller's own.
func (u *Unordered) block(s *sequence, first, count int64) *block {
	b := &block{count: count, number: first, id: u.g.id(s.tenure, first)}
	b.next.Store(1)
	if u.fresh.Load() <= first {
		b.swift.Store(count)
	}
	return b
}

// put replaces b in its lane. If another call has, the places of mine are a gap.
func (u *Unordered) put(lane uint64, b, mine *block) {
	u.lanes[lane].CompareAndSwap(b, mine)
	if mine.number < u.fresh.Load() { // since when slow may have looked for it there
		mine.swift.Store(0)
	}
}

// takeBlock takes up to size numbers of one tick behind last, and none where a
// call would have to wait or fail.
func (g *Generator) takeBlock(s *sequence, last, size int64, now time.Duration) (first, count int64) {
	if last < 0 {
		return 0, 0
	}
	first = g.next(last, size, now)
	counter := g.counter(first)
	count = min(size, g.seqMask+1-counter&g.seqMask, s.bound.Load()-counter)
	if count <= 0 || g.start(first)-now > s.maxAhead || !s.last.CompareAndSwap(last, first+count-1) {
		return 0, 0
	}
	return first, count
}

// busy reports whether blocks are worth their while, because busyAt numbers were
// taken within a tick. A block for each id of a slow program would be garbage.
func (u *Unordered) busy(last int64) bool {
	mark := u.mark.Load()
	if mark>>u.g.seqBits != last>>u.g.seqBits {
		u.mark.Store(last)
		return false
	}
	return last-mark >= busyAt && u.size > 0
}

const busyAt = 64

// open lets blocks of the tick that begins with fresh, and later ones, be drawn
// from for a millisecond without a look at the clock. It is called when a block
// was used up before its tick was over, with what u.fresh was before the call read
// the clock. A clock that is not the system's is always looked at.
func (u *Unordered) open(before, fresh int64) {
	const window = time.Millisecond // and as much again until the timer has run
	if (before == never || before < fresh) && u.g.clock.source == nil && u.fresh.CompareAndSwap(before, fresh) {
		u.timer.Reset(window) // after fresh is set: the last thing that happens is shut
		u.slow(fresh)
	}
}

// shut has all calls look at the clock again.
func (u *Unordered) shut() {
	u.fresh.Store(never)
	u.slow(never)
}

// slow has calls look at the clock for numbers below fresh.
func (u *Unordered) slow(fresh int64) {
	for i := range u.lanes {
		if b := u.lanes[i].Load(); b.number < fresh {
			b.swift.Store(0)
		}
	}
}

// seal ends all blocks, after the sequence was sealed.
func (u *Unordered) seal() {
	none := new(block)
	none.end()
	for i := range u.lanes {
		if b := u.lanes[i].Swap(none); b != nil {
			b.end()
		}
	}
}

// Append reserves n ids in one step. See [Generator.Append].
func (u *Unordered) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	return u.g.Append(ctx, dst, n)
}
