package lease

import "context"

// A Store keeps the leases of namespaces. It serialises the updates of a row,
// and a commit that it acknowledged stays, or its fingerprint changes, or it
// says that it cannot tell (see [Probe].Volatile).
//
// Namespace and layout together say whose rows a call is about. Every method is
// one step: all of it happens, at one time, or nothing. A method that returns an
// error may have done its work all the same, at any later time even: the reply
// was lost, or the request was late. Keepers expect that. Package leasetest has
// the suite that every Store passes.
//
// A Store is safe for concurrent use.
type Store interface {
	// Migrate makes what the store needs to keep leases in, if it is not there.
	// Many processes may call it at once.
	Migrate(ctx context.Context) error

	// Layouts returns the layouts that the namespace was founded with, and those
	// of rows that are left of it.
	Layouts(ctx context.Context, namespace string) ([]string, error)

	// Found adds the layout to the namespace, with the current fingerprint, with
	// [Terms.Founding] as its fence, and with the workers up to the largest that has
	// a row as born, unless it is there already, or a layout was added that makes
	// them more than seen.
	Found(ctx context.Context, terms Terms, seen int) error

	// Probe reads, without locks, what a claim must know.
	Probe(ctx context.Context, q Query) (Probe, error)

	// Fence sets the fingerprint to the current one and raises the fence to
	// [Terms.Beyond], if the fingerprint still is seen. With seen "" it does so
	// whatever the fingerprint is.
	Fence(ctx context.Context, terms Terms, seen string) error

	// Bear adds a free row for the least worker from min to max that is not below
	// the number of workers born so far, and counts it and those below it as born.
	// It never had a row, so its bound is 0. If there is no such worker, Bear does
	// nothing.
	Bear(ctx context.Context, terms Terms, min, max int64) error

	// Replace adds a free row for a worker that was born and has none, with the
	// cap of now as its bound, so that it begins behind anything that the row
	// granted that was lost. It does nothing if the row is there.
	Replace(ctx context.Context, terms Terms, worker int64) error

	// Claim takes a row that is as it was seen, its bound included, and still
	// free, if its worker was born, the fence is as it was seen, and the current
	// fingerprint is that of the namespace. It reports false if no row was changed.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Renew raises the bound of a lease that is as the holder knows it and has
	// not expired. It reports false if no row was changed.
	Renew(ctx context.Context, r Renewal) (Row, bool, error)

	// Release frees a row that is as the holder knows it, and lowers its bound to
	// the first counter that was not used. It reports false if no row was changed.
	Release(ctx context.Context, r Release) (bool, error)

	// Rows returns the rows of the workers from min to max, by number.
	Rows(ctx context.Context, terms Terms, min, max int64) ([]Row, error)
}

// A Row is what a store keeps of a worker number.
type Row struct {
	Worker   int64
	Token    string // random, of the last claim or renewal; "" when the row is free
	Revision int64  // grows with every update
	Bound    int64  // the first counter that was never granted
	Expires  int64  // the store's time after which the lease cannot be renewed
	Label    string // who holds or held it, for people
	Now      int64  // the store's time when the row was read or written
}

// A Query asks for a row to claim.
type Query struct {
	Terms    Terms
	Min, Max int64  // the range of worker numbers, both included
	Prefer   string // a label: a free row that last had it comes first; "" for none
}

// A Probe is the answer to a [Query].
type Probe struct {
	Founded     bool   // whether the namespace has the layout; if not, only Current, Volatile, OneClock and Now are valid
	Fence       int64  // the least counter that a claim may begin with
	Born        int64  // all workers below it were born, or passed over
	Fingerprint string // of the database, when the layout was founded or fenced
	Current     string // of the database now
	Volatile    bool   // whether an acknowledged commit may be lost unnoticed
	OneClock    bool   // whether no server with another clock can take this one's place
	Now         int64  // the store's time

	// Free is a row that is free, a random one where many processes would meet at
	// the same; Found whether there is one. Rows of which a claim would be granted
	// nothing come last, those whose bound is not ahead of the store's time first.
	Free  Row
	Found bool
}

// A Claim takes a row.
type Claim struct {
	Terms  Terms
	Seen   Row
	Fence  int64  // as it was seen together with the row; the lease begins behind it
	Token  string // fresh
	Label  string
	Wanted int64 // the bound asked for; the cap of now limits it
}

// A Renewal raises the bound of a lease.
type Renewal struct {
	Terms  Terms
	Held   Row
	Token  string // fresh
	Wanted int64
}

// A Release frees a row.
type Release struct {
	Terms  Terms
	Held   Row
	Unused int64 // the bound is lowered to it; it is never raised
}
