package segment

import "context"

// A Store keeps a bound for each name, which is the first number not yet granted. For SQL
// databases, use package segmentstore. Package segmenttest has a Store for tests, and the
// test suite every Store must pass.
//
// A Store must be safe for concurrent use by any number of processes.
type Store interface {
	// Fetch grants the numbers from start to f.End(start)-1, and sets the bound to
	// f.End(start). The start is the previous bound, or f.Min if that's larger or the
	// name is new. If there are no numbers left below f.Limit, Fetch must return f.Limit
	// without changing anything.
	//
	// Fetch must be atomic, i.e. take effect either as a whole at one point in time, or
	// not at all. Note that a call which returned an error might still have taken effect,
	// or might yet do so.
	//
	// Fetch should return soon after ctx ends. Until it does, the [Segment] won't send
	// another Fetch, its calls wait, and its Health has a Reason.
	//
	// The caller must make sure that 0 < f.Min < f.Limit and 0 < f.Span.
	Fetch(ctx context.Context, f Fetch) (start int64, err error)
}

// A Fetch is a request to a [Store] for numbers.
type Fetch struct {
	Name string

	// Min is the smallest number that may be granted. A [Segment] sets it to the end of
	// its last grant. This keeps the segment's numbers ascending even if the store has
	// lost that grant, and the fetch also corrects the store's bound.
	Min int64

	Limit int64 // the first number that may not be granted
	Span  int64 // how far to raise the bound, unless that would exceed Limit
}

// End returns the bound after a grant that begins at start.
func (f Fetch) End(start int64) int64 { return start + min(f.Span, f.Limit-start) }
