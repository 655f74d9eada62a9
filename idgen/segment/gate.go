package segment

import "sync/atomic"

// A gate lets calls take places from a run without a lock. Each call increments
// drawn. If the result is at most last, the call owns that place.
//
// If the result is above last, the run is used up. Such a call is called late, and it
// continues under the lock. A late call may be slow to compare its place with last. If
// the gate opened for a later run before that comparison, the place could be within the
// later run. The late call would then take a place that another call also takes. So
// after the gate was shut, it opens again only when all late calls have compared. Their
// number is the difference between drawn and last. To prevent further late calls, shut
// moves drawn to a value far above any last.
//
// Invariants:
//   - The call that moves drawn from a to b, with b at most last, owns the places
//     from a+1 to b. No other call owns them.
//   - last does not change before all late calls have compared.
//   - Each run starts after the end of all earlier runs.
//
// model/gate.pml is a model of this algorithm. The script idgen/segment/model/check.sh
// searches the interleavings of the model, and of variants that each break one rule.
type gate struct {
	// These are in separate cache lines. They are not of type [atomic.Int64], because
	// the compiler counts its methods as larger than the functions of package atomic,
	// and would not inline Next.
	drawn *int64 // the place that was drawn last; beyond last, it counts the late calls
	plain *int64 // last if places are numbers, otherwise none: up to here, Next needs no other code

	last atomic.Int64 // the last place of the run
	late atomic.Int64 // how many late calls have compared

	// Guarded by the lock of the Segment. The callers of shut and open hold it.
	isOpen  bool
	awaited int64 // how many calls were late when the gate was shut
}

const (
	none = -1 // no place

	// far is the value of drawn while the gate is shut. It is low enough that two
	// years of calls, at one per nanosecond, do not make drawn overflow. The gate does
	// not open for a run that ends above farLast, which is below far by the same
	// distance. So the numbers above farLast, 2 % of all, are issued under the lock.
	far     = 1<<63 - 1<<56
	farLast = far - 1<<56
)

// A cacheLine separates the fields before and after it.
type cacheLine [64]byte

// init shuts a new gate, and returns the two words that Next uses.
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

// owned reports whether a call owns the place to which it incremented drawn. The call may
// use owned only once, because owned counts the late calls.
func (g *gate) owned(place int64) bool {
	if place <= g.last.Load() {
		return true
	}
	if place < far {
		g.late.Add(1)
	}
	return false
}

// take takes n places, if that many are left.
func (g *gate) take(n int64) (r run, ok bool) {
	for {
		last, drawn := g.last.Load(), atomic.LoadInt64(g.drawn) // drawn is above the last place of each earlier run
		if n > last-drawn {
			return run{}, false
		}
		if atomic.CompareAndSwapInt64(g.drawn, drawn, drawn+n) {
			return run{drawn + 1, drawn + n}, true
		}
	}
}

func (g *gate) left() int64 { return max(g.last.Load()-atomic.LoadInt64(g.drawn), 0) }

// shut closes the gate and returns the places that no call has taken.
func (g *gate) shut() run {
	if !g.isOpen {
		return run{0, none}
	}
	g.isOpen = false
	drawn, last := atomic.SwapInt64(g.drawn, far), g.last.Load()
	g.awaited = max(drawn-last, 0)
	return run{min(drawn, last) + 1, last}
}

// open opens the gate for r, which must be above all earlier runs. The gate must be shut.
// If a late call has not compared its place yet, open does nothing and returns false. The
// late call will take the lock after its comparison and try again. open also returns
// false if r ends above farLast.
func (g *gate) open(r run, plain bool) bool {
	if g.late.Load() < g.awaited || r.last > farLast {
		return false
	}
	g.late.Store(0)
	g.last.Store(r.last)
	if plain {
		atomic.StoreInt64(g.plain, r.last)
	}
	atomic.StoreInt64(g.drawn, r.first-1) // must be last: a call that draws from r then finds last
	g.isOpen = true
	return true
}
