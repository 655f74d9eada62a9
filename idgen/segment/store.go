package segment

import "context"

// A Store keeps a bound for each name: the first number that was not granted. Package
// segmentstore has a Store for SQL databases. Package segmenttest has one for tests,
// and the suite that every Store must pass.
//
// A Store is safe for concurrent use, by any number of processes.
type Store interface {
	// Fetch grants the numbers from start to f.End(start)-1 and sets the bound to
	// f.End(start). start is the previous bound, or f.Min if that is larger or the
	// name is new. If no number below f.Limit is left, Fetch changes nothing and
	// returns f.Limit.
	//
	// Fetch is atomic: it takes effect as a whole, at one time, or not at all. If a
	// call returns an error, it may still have taken effect, or may do so later.
	//
	// Fetch returns soon after ctx ends. Until it returns, a [Segment] sends no other
	// Fetch, its calls wait, and its Health has a Reason.
	//
	// The caller ensures that 0 < f.Min < f.Limit and 0 < f.Span.
	Fetch(ctx context.Context, f Fetch) (start int64, err error)
}

// A Fetch is a request to a [Store] for numbers.
type Fetch struct {
	Name string

	// Min is the least number to grant. A [Segment] sets Min to the end of its last
	// grant. So even if the store has lost that grant, the segment's numbers ascend,
	// and the fetch corrects the store's bound.
	Min int64

	Limit int64 // the first number that may not be granted
	Span  int64 // how far to raise the bound, if Limit allows it
}

// End returns the bound after a grant that starts at start.
func (f Fetch) End(start int64) int64 { return start + min(f.Span, f.Limit-start) }
