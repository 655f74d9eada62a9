package segment

import "sync/atomic"

// A gate lets calls take places from a run without a lock. To take a place, a call
// increments drawn. If the result is at most last, the call owns that place.
//
// If the result is above last, the run is used up, and the call, which we call late,
// continues under the lock. The danger is in late calls that take their time between
// incrementing drawn and comparing the result with last. If the gate opened for a new
// run in the meantime, the place might turn out to be within the new run, and the late
// call would take a place that belongs to another call. So once the gate has been shut,
// we don't open it again until all late calls have compared. The difference between
// drawn and last tells us how many there are. To keep further calls from becoming late,
// shut moves drawn to a value far above any last.
//
// These invariants hold:
//   - The call that moves drawn from a to b, with b at most last, owns the places from
//     a+1 to b, and no other call does.
//   - last doesn't change until all late calls have compared.
//   - Each run starts after the end of all earlier runs.
//
// There is a model of this algorithm in model/gate.pml. The script
// idgen/segment/model/check.sh searches the interleavings of the model, and of variants
// that each break one rule.
type gate struct {
	// These two are in separate cache lines. We don't use [atomic.Int64] for them,
	// because the compiler considers its methods larger than the functions of package
	// atomic, and would no longer inline Next.
	drawn *int64 // the last place that was drawn; above last, also counts the late calls
	plain *int64 // last if places are numbers, otherwise none; up to it, Next can return the place itself

	last atomic.Int64 // the last place of the run
	late atomic.Int64 // how many late calls have made their comparison

	// Guarded by the Segment's mu, which the callers of shut and open hold.
	isOpen  bool
	awaited int64 // how many calls were late when the gate was shut, and must have compared before it opens
}

const (
	none = -1 // not a place

	// far is the value of drawn while the gate is shut. It leaves enough room that
	// drawn wouldn't overflow in two years of calls, at one call per nanosecond. For
	// the same reason the gate doesn't open for a run that ends above farLast, which is
	// as far below far. The numbers above farLast, 2 % of all numbers, are therefore
	// issued under the lock.
	far     = 1<<63 - 1<<56
	farLast = far - 1<<56
)

// A cacheLine keeps its neighbours from sharing a cache line.
type cacheLine [64]byte

// init shuts a new gate and returns the two words that Next needs.
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

// owned reports whether a call owns the place to which it incremented drawn. A call
// must not use owned more than once, because owned also counts the late calls.
func (g *gate) owned(place int64) bool {
	if place <= g.last.Load() {
		return true
	}
	if place < far {
		g.late.Add(1)
	}
	return false
}

// take takes n places, if there are that many left.
func (g *gate) take(n int64) (r run, ok bool) {
	for {
		last, drawn := g.last.Load(), atomic.LoadInt64(g.drawn) // a stale last is harmless, since drawn is above it
		if n > last-drawn {
			return run{}, false
		}
		if atomic.CompareAndSwapInt64(g.drawn, drawn, drawn+n) {
			return run{drawn + 1, drawn + n}, true
		}
	}
}

func (g *gate) left() int64 { return max(g.last.Load()-atomic.LoadInt64(g.drawn), 0) }

// shut closes the gate and returns the places that are left.
func (g *gate) shut() run {
	if !g.isOpen {
		return run{0, none}
	}
	g.isOpen = false
	drawn, last := atomic.SwapInt64(g.drawn, far), g.last.Load()
	g.awaited = max(drawn-last, 0)
	return run{min(drawn, last) + 1, last}
}

// open opens the gate for r, which must be above all earlier runs. The gate must be
// shut. If some late call has yet to compare its place, open does nothing and returns
// false. That's fine, because the late call is going to take the lock after its
// comparison and try again. open also returns false if r ends above farLast.
func (g *gate) open(r run, plain bool) bool {
	if g.late.Load() < g.awaited || r.last > farLast {
		return false
	}
	g.late.Store(0)
	g.last.Store(r.last)
	if plain {
		atomic.StoreInt64(g.plain, r.last)
	}
	atomic.StoreInt64(g.drawn, r.first-1) // must come last, so that a call that draws from r sees the new last
	g.isOpen = true
	return true
}
