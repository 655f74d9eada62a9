package lease

import "context"

// A Store keeps the leases of namespaces. It serialises the updates of a row, and
// a commit that it acknowledged stays, or its fingerprint changes, or it says that
// it cannot tell (see [Probe].Volatile).
//
// Only the reply to a write proves anything. What a read shows may not be on the
// disk yet, and may be gone after a crash; keepers take from a read only the token
// and the revision with which they go on.
//
// Namespace and layout together say whose rows a call is about. Every method is
// one step: all of it happens, at one time, or nothing. A method that returns an
// error may have done its work all the same, at any later time even: the reply
// was lost, or the request was late. Keepers expect that. Package leasetest has
// the suite that every Store passes.
//
// Where the tables or files are missing, methods return [ErrNotMigrated]. Where
// they are of a version that the store does not know, they return a
// [*VersionError]; where trying again cannot help, a [*PermanentError].
//
// A Store is safe for concurrent use.
type Store interface {
	// Migrate creates the tables or files in which leases are kept, if they are
	// missing. Many processes may call it at once.
	Migrate(ctx context.Context) error

	// Layouts returns the layouts of the namespace, also those of which only rows
	// are left, and the position at which the next layout is added.
	Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error)

	// CreateNamespace adds the layout to the namespace, with the current fingerprint
	// and with [Terms.Fresh] as its fence, and reports whether it did. It does nothing
	// if the layout is there already, or if another layout was added at position.
	CreateNamespace(ctx context.Context, terms Terms, position int64) (created bool, err error)

	// Probe reads, without locks, what a claim must know. If leases cannot be kept as
	// things are, its error says so: [ErrNotMigrated], a [*VersionError] or a
	// [*PermanentError].
	Probe(ctx context.Context, q Query) (Probe, error)

	// Fence sets the fingerprint to the current one and raises the fence to
	// [Terms.Beyond], if the fingerprint still is seen. With seen "" it does so
	// whatever the fingerprint is.
	Fence(ctx context.Context, terms Terms, seen string) error

	// AddRows adds a free row for each worker from min to max that has none. Its
	// bound is the cap of now, above all that a lost row of the worker can have
	// granted. For a coarse layout without a namespace it is [Terms.Counter] of now.
	// Rows that are there stay as they are. It may add fewer rows, but adds the row
	// of min, unless another process is about to. Each row is a step of its own.
	AddRows(ctx context.Context, terms Terms, min, max int64) error

	// Claim takes a row. Its conditions: the row is as it was seen, its bound
	// included, and still free. The fence is as it was seen. The namespace has the
	// current fingerprint. The store is not volatile, or was seen to be. It reports
	// false if no row was changed.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Renew raises the bound of a lease that is as the holder knows it and has
	// not expired. The store must not be volatile, unless it was when the row was
	// claimed. It reports false if no row was changed.
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
	Expires  int64  // the store's time after which the lease cannot be renewed; 0 when the row is free
	Label    string // who holds or held it, for people
	Now      int64  // the store's time when the row was read or written
}

// A Query asks for a row to claim.
type Query struct {
	Terms    Terms
	Min, Max int64  // the range of worker numbers, both included
	Own      int64  // a worker number that comes first if its row is free; -1 for none
	Prefer   string // a label: a free row that last had it comes second; "" for none

	// Waiting asks whether a row is free. As long as none is, a store may answer with
	// the row that becomes free first and Now alone, with Exists set and Top at Max.
	Waiting bool
}

// A Probe is the answer to a [Query].
type Probe struct {
	Exists      bool   // whether the namespace has the layout; if not, Fence and Fingerprint are not valid
	Fence       int64  // the least counter that a claim may begin with
	Fingerprint string // of the database, when the namespace was created or fenced
	Current     string // of the database now
	Volatile    bool   // whether an acknowledged commit may be lost unnoticed
	OneClock    bool   // whether no server with another clock can take this one's place
	Now         int64  // the store's time
	Top         int64  // the largest worker of the range that has a row, Min-1 if none has; not valid if Free

	// Row is a free row, if Free says so: a random one where many processes would
	// meet at the same. Rows of which a claim would be granted nothing come last.
	// Those whose bound is not ahead of the store's time come first, among the rows
	// that the store looks at. If no row is free,
	// the answer to a Query with Waiting has the row that becomes free first; Known
	// says whether there is one.
	Row   Row
	Known bool
	Free  bool
}

// A Claim takes a row.
type Claim struct {
	Terms    Terms
	Seen     Row
	Fence    int64  // as it was seen together with the row; the lease begins at or above it
	Token    string // fresh
	Label    string
	Wanted   int64 // the bound asked for; the cap of now limits it
	Volatile bool  // whether the store was seen to be volatile
}

// A Renewal raises the bound of a lease.
type Renewal struct {
	Terms    Terms
	Held     Row
	Token    string // fresh, and the same in each attempt to renew the same revision
	Wanted   int64
	Volatile bool // whether the store was seen to be volatile when the row was claimed
}

// A Release frees a row.
type Release struct {
	Terms  Terms
	Held   Row
	Unused int64 // the bound is lowered to it; it is never raised
}
