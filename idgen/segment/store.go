package segment

import "context"

// A Store keeps, for each name, a bound: the first number that was
// granted to nobody. Package segmentstore has one for SQL databases, package
// segmenttest one for tests and the suite that every Store passes.
//
// A Store is safe for concurrent use, by any number of processes.
type Store interface {
	// Fetch grants the numbers from start up to, and without, f.End(start), which
	// becomes the bound; start is the bound that was, or f.Min if that is larger. A
	// name that is not there has no bound yet, and so begins at f.Min. If nothing
	// below f.Limit is left, Fetch changes nothing and returns f.Limit.
	//
	// All of it happens in one step, at one time, or nothing does. A call that
	// fails may have done its work all the same, at any later time even.
	//
	// Callers see to it that 0 < f.Min < f.Limit and 0 < f.Span.
	Fetch(ctx context.Context, f Fetch) (start int64, err error)
}

// A Fetch asks a [Store] for numbers.
type Fetch struct {
	Name string

	// Min is the least number to grant. A [Segment] sets it to the end of what it
	// was granted before. So numbers ascend even if the store has forgotten
	// that, and the store knows it again.
	Min int64

	Limit int64 // the least number not to grant
	Span  int64 // how far to move the bound, if Limit allows it
}

// End returns the bound after a grant from start on.
func (f Fetch) End(start int64) int64 { return start + min(f.Span, f.Limit-start) }
