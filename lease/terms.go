package lease

// Terms say how a layout counts, so that a store can turn its own time into
// counters within a statement. All times are microseconds since 1970, UTC.
type Terms struct {
	Layout  string // the layout, as text; a store compares it to the letter
	Epoch   int64  // the time of tick 0
	Unit    int64  // the length of a tick
	PerTick int64  // counters in a tick
	Workers int64  // worker numbers are 0 to Workers-1
	Ahead   int64  // how far ahead of the store's time a bound may be: Window and MaxClockSkew
	TTL     int64  // how long a lease lasts from the store's time of its claim or renewal
}

// Counter returns the first counter of the tick that holds now.
func (t Terms) Counter(now int64) int64 { return (now - t.Epoch) / t.Unit * t.PerTick }

// Cap returns the largest bound that may be granted at now: the end of the tick
// that holds the time Ahead of it.
func (t Terms) Cap(now int64) int64 { return ((now+t.Ahead-t.Epoch)/t.Unit + 1) * t.PerTick }
