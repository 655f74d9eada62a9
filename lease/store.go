package lease

import "context"

// A Store keeps the leases of namespaces. It serialises the updates of a row,
// and a commit that it acknowledged stays, or its fingerprint changes, or it
// says that it cannot tell (see [Probe].Volatile).
//
// Every method is one statement or one read. A method that returns an error may
// have done its work all the same, at any later time even: the reply was lost,
// or the request was late. Keepers expect that. Package leasetest has the suite
// that every Store passes.
//
// A Store is safe for concurrent use.
type Store interface {
	// Migrate makes what the store needs to keep leases in, if it is not there.
	// Many processes may call it at once.
	Migrate(ctx context.Context) error

	// Found adds the namespace with its layout, the current fingerprint, and the
	// cap of now as its fence, unless it is there already.
	Found(ctx context.Context, namespace string, terms Terms) error

	// Probe reads, without locks, what a claim must know.
	Probe(ctx context.Context, q Query) (Probe, error)

	// Fence sets the fingerprint to the current one and raises the fence to the
	// cap of now, if the fingerprint still is seen. With seen "" it does so
	// whatever the fingerprint is.
	Fence(ctx context.Context, namespace, seen string, terms Terms) error

	// Bear adds a free row for a worker that has none, with the cap of now as
	// its bound, so that it begins behind anything that a lost row granted. It
	// does nothing if the row is there.
	Bear(ctx context.Context, namespace string, worker int64, terms Terms) error

	// Claim takes a row that is as it was seen and still free or expired, if the
	// fence is as it was seen, and layout and current fingerprint are those of the
	// namespace. It reports false if no row was changed.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Renew raises the bound of a lease that is as the holder knows it and has
	// not expired. It reports false if no row was changed.
	Renew(ctx context.Context, r Renewal) (Row, bool, error)

	// Release frees a row that is as the holder knows it, and lowers its bound to
	// the first counter that was not used. It reports false if no row was changed.
	Release(ctx context.Context, r Release) (bool, error)

	// Rows returns the rows of the workers from min to max, by number.
	Rows(ctx context.Context, namespace string, min, max int64) ([]Row, error)
}

// A Row is what a store keeps of a worker number.
type Row struct {
	Worker   int64
	Token    string // random, of the last claim or renewal; "" when the row is free
	Revision int64  // grows with every update
	Bound    int64  // the first counter that was never granted
	Expires  int64  // the store's time at which others may claim the row
	Label    string // who holds or held it, for people
	Now      int64  // the store's time when the row was read or written
}

// Free reports whether others may claim the row, as of r.Now.
func (r Row) Free() bool { return r.Token == "" || r.Expires < r.Now }

// A Query asks for a row to claim.
type Query struct {
	Namespace string
	Terms     Terms
	Min, Max  int64  // the range of worker numbers, both included
	Prefer    string // a label: a free row that last had it comes first; "" for none
}

// A Probe is the answer to a [Query].
type Probe struct {
	Founded     bool   // whether the namespace is there; if not, only Now is valid
	Layout      string // of the namespace
	Fence       int64  // the least counter that a claim may begin with
	Fingerprint string // of the database, when the namespace was founded or fenced
	Current     string // of the database now
	Volatile    bool   // whether an acknowledged commit may be lost unnoticed
	Now         int64  // the store's time

	// Free is a random row that is free or expired; Found whether there is one.
	// Rows whose bound is not ahead of the store's time come first.
	Free  Row
	Found bool

	// Unborn is a random worker of the range that has no row, or -1.
	Unborn int64
}

// A Claim takes a row.
type Claim struct {
	Namespace string
	Terms     Terms
	Seen      Row
	Fence     int64  // as it was seen together with the row; the lease begins behind it
	Token     string // fresh
	Label     string
	Wanted    int64 // the bound asked for; the cap of now limits it
}

// A Renewal raises the bound of a lease.
type Renewal struct {
	Namespace string
	Terms     Terms
	Held      Row
	Token     string // fresh
	Wanted    int64
}

// A Release frees a row.
type Release struct {
	Namespace string
	Held      Row
	Unused    int64 // the bound is lowered to it; it is never raised
}
