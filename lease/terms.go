package lease

import "time"

// Terms say what is leased and how it counts, so that a store can turn its own
// time into counters within a statement. All times are microseconds, since 1970
// UTC if they are instants.
type Terms struct {
	Namespace string
	Layout    string // as text; stores compare it to the letter
	Epoch     int64  // the time of tick 0
	Unit      int64  // the length of a tick
	PerTick   int64  // counters in a tick
	Workers   int64  // worker numbers are 0 to Workers-1
	Ahead     int64  // how far ahead of the store's time a bound may be: Window and MaxClockSkew
	Skew      int64  // how far the next server's clock may be behind this one's: MaxClockSkew, or 0 where there can be no next
	TTL       int64  // how long a lease lasts from the store's time of its claim or renewal
}

// Counter returns the first counter of the tick that holds now.
func (t Terms) Counter(now int64) int64 { return (now - t.Epoch) / t.Unit * t.PerTick }

// Cap returns the largest bound that may be granted at now: the end of the tick
// that holds the time Ahead of it.
func (t Terms) Cap(now int64) int64 { return t.Counter(now+t.Ahead) + t.PerTick }

// Reached returns the first time at which the cap is not below bound.
func (t Terms) Reached(bound int64) int64 {
	tick := (bound+t.PerTick-1)/t.PerTick - 1
	return t.Epoch + tick*t.Unit - t.Ahead
}

// Beyond returns a bound that none exceeds which was granted until now, also by
// a server before this one.
func (t Terms) Beyond(now int64) int64 { return t.Cap(now + t.Skew) }

// Coarse reports whether a tick is longer than a second. Leases of such layouts
// are granted in blocks of counters, so that a process that is killed does not
// take the rest of its tick with it.
func (t Terms) Coarse() bool { return t.Unit > time.Second.Microseconds() }

// Fresh returns the fence of a namespace that is created at now: above everything
// that a namespace of the same name can have granted before it was lost. Where
// that would be the next tick of a coarse layout, it is the tick that holds now;
// such a layout relies on there having been none.
func (t Terms) Fresh(now int64) int64 {
	if t.Coarse() {
		return t.Counter(now)
	}
	return t.Beyond(now)
}

// Free reports whether others may claim r, as of r.Now. A lease that has expired
// is left alone for Skew longer: to the next server it may look alive again.
func (t Terms) Free(r Row) bool { return r.Token == "" || r.Expires+t.Skew < r.Now }
