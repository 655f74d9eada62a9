package segment

import "sync/atomic"

// A gate lets calls draw places from a run without a lock. Each call increments
// drawn. If the result is at most last, the call owns that place.
//
// A call that incremented drawn beyond last is late, and continues under the lock. A
// late call is a risk: it may be slow to compare its place with last. If the gate
// opens for a later run before the comparison, the place may be within that run. Then
// the late call takes a place that another call will also draw. So a gate that was
// shut opens only after all late calls have compared. drawn has counted them beyond
// last. To prevent further late calls, shut moves drawn to a value far above any last.
//
// Invariants:
//   - The call that moves drawn from a to b, with b at most last, owns the places
//     from a+1 to b. No other call owns them.
//   - last does not change before all late calls have compared.
//   - Each run starts after the end of all earlier runs.
//
// model/gate.pml is a model of this. idgen/segment/model/check.sh searches it, with
// and without each rule.
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

	// far is the value of drawn while the gate is shut. From there, two years of
	// calls at one per nanosecond do not overflow it. last stays below farLast, which
	// is as far below. The numbers above farLast, 2 % of all, are issued under the
	// lock.
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

// owned reports whether a call owns the place to which it incremented drawn. It may be
// called only once for a place.
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

// open lets calls draw from r, which is above all earlier runs. It reports false and
// does nothing while a late call has not compared: that call takes the lock later
// and tries again. The gate must be shut.
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
