package lease

import "time"

// Terms describe a namespace, a layout, and the times of its leases. A store needs them
// to convert its own time to counters within a statement. Durations are in microseconds,
// and points in time are microseconds since 1970 UTC.
type Terms struct {
	Namespace string
	Layout    string // as text; two layouts are the same only if their texts are
	Epoch     int64  // the time of tick 0
	Unit      int64  // the length of a tick
	PerTick   int64  // counters in a tick
	Workers   int64  // worker numbers are 0 to Workers-1
	Ahead     int64  // how far ahead of the store's time a bound may be: Window and MaxClockSkew
	Skew      int64  // how far the store's clock may go back, or the next server's clock be behind: MaxClockSkew
	TTL       int64  // how long a lease lasts after its claim or renewal, by the store's clock
}

// Limits are the counters a store derives from its time. See [Terms.At].
type Limits struct {
	// Tick is the first counter of the current tick.
	Tick int64

	// Cap is the largest bound that may be granted: the end of the tick containing the
	// time Ahead from now.
	Cap int64

	// RaisedFence is the Cap for the time Skew from now. It's above every bound granted
	// so far, even by a server that this one has replaced, and even if the clock has gone
	// back by Skew. New rows use it as their bound too, in case an earlier row for the
	// same worker number was lost.
	RaisedFence int64

	// NewFence is the fence of a namespace created now, and the bound of any row added
	// before its namespace exists. It normally equals RaisedFence, in case a namespace of
	// this name was lost. For a coarse layout that would be in the next tick, so NewFence
	// is Tick instead, which means that coarse layouts rely on no namespace having been
	// lost.
	NewFence int64
}

// At returns the limits for a given time of the store.
func (t Terms) At(now int64) Limits {
	l := Limits{Tick: t.counter(now), Cap: t.cap(now), RaisedFence: t.cap(now + t.Skew)}
	l.NewFence = l.RaisedFence
	if t.Coarse() {
		l.NewFence = l.Tick
	}
	return l
}

// Free reports whether other processes may claim r at the time r.Now. They have to wait
// for Skew after a lease has expired, since it may not have expired yet by the clock of
// another server that takes over from this one.
func (t Terms) Free(r Row) bool { return r.Token == "" || r.Expires+t.Skew < r.Now }

// counter returns the first counter of the tick that contains now.
func (t Terms) counter(now int64) int64 { return (now - t.Epoch) / t.Unit * t.PerTick }

// cap returns the largest bound that may be granted at now.
func (t Terms) cap(now int64) int64 { return t.counter(now+t.Ahead) + t.PerTick }

// Coarse reports whether a tick is longer than a second. Such layouts are leased in
// blocks of counters so that killing a process doesn't waste the rest of its tick.
func (t Terms) Coarse() bool { return t.Unit > time.Second.Microseconds() }
