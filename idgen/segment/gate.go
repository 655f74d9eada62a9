package segment

import "sync/atomic"

// A gate is where calls draw from a run without a lock: each moves drawn on by
// one, and owns the place that it moved it onto, up to last.
//
// A call that moved it beyond last is late, and goes to the lock. It is also the
// danger: if it is slow to compare its place with last, and the gate has opened for
// a later run meanwhile, it takes a place of that run for its own, which will be
// somebody else's too. So a gate that was shut opens again when each late call has
// said that it has compared. How many there are is what drawn has counted beyond
// last; and so that none joins them, shut moves drawn to where no last ever is.
//
// Invariants: the call that moves drawn from a to b, up to last, alone owns the
// places behind a, up to b. While a late call has yet to say that it has compared,
// last stays as it is. No run begins before the end of one that was before it.
//
// model/gate.pml is searched for what breaks this, and idgen/segment/model/check.sh says
// what does.
type gate struct {
	// In cache lines of their own, and not of type [atomic.Int64]: its methods count
	// for more than the functions of package atomic, and Next would be too long to
	// be inlined.
	drawn *int64 // the place drawn last, up to last; beyond it, how many calls were late
	plain *int64 // last, if places are numbers, else none: up to here, Next needs nobody else

	last atomic.Int64 // the last place of the run
	late atomic.Int64 // how many late calls have compared

	// Guarded by the lock of the Segment, which those who call shut and open hold.
	isOpen  bool
	awaited int64 // how many calls were late when the gate was shut
}

const (
	none = -1 // no place

	// far is where drawn is while the gate is shut. From there it does not
	// overflow in two years of a call every nanosecond, and no last comes within as
	// much of it: the numbers behind, 2 % of all, are handed out under the lock.
	far     = 1<<63 - 1<<56
	farLast = far - 1<<56
)

// A cacheLine keeps what is before it and what is after it out of each other's way.
type cacheLine [64]byte

// init shuts a new gate, and returns what Next needs of it.
func (g *gate) init() (drawn, plain *int64) {
	words := &struct {
		_     cacheLine
		drawn int64
		_     cacheLine
		plain int64
		_     cacheLine
	}{drawn: far, plain: none}
	g.drawn, g.plain = &words.drawn, &words.plain
	g.last.Store(none)
	return g.drawn, g.plain
}

// owned compares: it reports whether a place that a call moved drawn onto belongs
// to that call, which must not compare it again.
func (g *gate) owned(place int64) bool {
	if place <= g.last.Load() {
		return true
	}
	if place < far {
		g.late.Add(1)
	}
	return false
}

// take takes n places, if there are as many.
func (g *gate) take(n int64) (r run, ok bool) {
	for {
		last, drawn := g.last.Load(), atomic.LoadInt64(g.drawn) // drawn is beyond the last of an earlier run
		if n > last-drawn {
			return run{}, false
		}
		if atomic.CompareAndSwapInt64(g.drawn, drawn, drawn+n) {
			return run{drawn + 1, drawn + n}, true
		}
	}
}

func (g *gate) left() int64 { return max(g.last.Load()-atomic.LoadInt64(g.drawn), 0) }

// shut ends drawing, and returns what was not drawn.
func (g *gate) shut() run {
	if !g.isOpen {
		return run{0, none}
	}
	g.isOpen = false
	drawn, last := atomic.SwapInt64(g.drawn, far), g.last.Load()
	g.awaited = max(drawn-last, 0)
	return run{min(drawn, last) + 1, last}
}

// open lets calls draw from r, which is behind all that was drawn before, unless a
// late call is awaited: that will come to the lock, and try again. The gate is shut.
func (g *gate) open(r run, plain bool) bool {
	if g.late.Load() < g.awaited || r.last > farLast {
		return false
	}
	g.late.Store(0)
	g.last.Store(r.last)
	if plain {
		atomic.StoreInt64(g.plain, r.last)
	}
	atomic.StoreInt64(g.drawn, r.first-1) // the last thing: who owns a place of r finds it so
	g.isOpen = true
	return true
}
