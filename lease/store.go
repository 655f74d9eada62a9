package lease

import "context"

// A Store keeps the leases of namespaces. It executes the updates of a row one
// after the other. A Store must not lose a commit that it acknowledged, unless its
// fingerprint changes or it reports that it may lose commits (see [Probe].Volatile).
//
// Keepers rely only on replies to writes, because the result of a read may not be on
// the disk yet and may be gone after a crash. From a read, a keeper takes only the
// token and the revision with which it continues.
//
// A call affects only the rows of its namespace and layout. Each method is atomic,
// except AddRows, which is atomic for each row. If a method returns an error, the call
// may still have been executed, because the reply was lost, or it may be executed
// later, because the request was delayed. Keepers expect that. Package leasetest has
// the test suite that every Store must pass.
//
// Methods return [ErrNotMigrated] if the tables or files are missing. They return a
// [*VersionError] for a version that the store does not know, and a [*PermanentError]
// if a retry cannot help.
//
// A Store is safe for concurrent use.
type Store interface {
	// Migrate creates the tables or files in which leases are kept, if they are
	// missing. Many processes may call it at the same time.
	Migrate(ctx context.Context) error

	// Layouts returns the namespace's layouts and the position at which the next
	// layout is to be added. It includes layouts that have rows but were not added
	// with CreateNamespace.
	Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error)

	// CreateNamespace adds the layout to the namespace and reports whether it did.
	// With the layout it stores the current fingerprint, and [Limits].NewFence as the
	// fence. It does nothing if the layout exists already, or if another layout was
	// added at position.
	CreateNamespace(ctx context.Context, terms Terms, position int64) (created bool, err error)

	// Probe reads, without locks, what a claim depends on. If the tables or files
	// cannot be used, it returns [ErrNotMigrated], a [*VersionError] or a
	// [*PermanentError].
	Probe(ctx context.Context, q Query) (Probe, error)

	// Fence stores the current fingerprint and raises the fence to
	// [Limits].RaisedFence, provided that the stored fingerprint still equals seen.
	// If seen is "", Fence does not compare the fingerprint.
	Fence(ctx context.Context, terms Terms, seen string) error

	// AddRows adds a free row for each worker from min to max that has none. Each
	// row's bound is [Limits].Cap, which is above everything that a lost row of the
	// worker can have granted. While the namespace does not exist, the bound is
	// [Limits].FirstRow. Existing rows are not changed. AddRows may add fewer rows,
	// but it adds the row of min, unless another process is adding that row at the
	// same time. Each row is added in a step of its own.
	AddRows(ctx context.Context, terms Terms, min, max int64) error

	// Claim takes a row and reports true if all these conditions hold: the row and
	// its bound are unchanged since the probe, and the row is still free; the fence is
	// unchanged; the namespace's fingerprint is the current one; and the store is
	// not volatile, unless the probe said that it is. Otherwise Claim changes nothing
	// and reports false.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Renew raises a lease's bound and reports true if all these conditions hold: the
	// row still has the token and the revision that the holder knows; the lease has
	// not expired; and the store is not volatile, unless it was volatile when the row
	// was claimed. Otherwise Renew changes nothing and reports false.
	Renew(ctx context.Context, r Renewal) (Row, bool, error)

	// Release frees a row, if the row still has the token and the revision of held.
	// It lowers the bound to unused, the first counter that was not used, and never
	// raises the bound. Release reports false if no row was changed.
	Release(ctx context.Context, terms Terms, held Row, unused int64) (bool, error)

	// Rows returns the rows of the workers from min to max, ordered by worker.
	Rows(ctx context.Context, terms Terms, min, max int64) ([]Row, error)

	// Examine returns those settings of the store that endanger leases and that Probe
	// does not check. snowkey.Doctor reports them.
	Examine(ctx context.Context) ([]Finding, error)
}

// A Row is what a store keeps of a worker number.
type Row struct {
	Worker   int64
	Token    string // random, set by the last claim or renewal; "" if the row is free
	Revision int64  // incremented by each update
	Bound    int64  // the first counter that was never granted
	Expires  int64  // the store's time after which the lease cannot be renewed; 0 if the row is free
	Label    string // the process that holds or held the row, for people
	Now      int64  // the store's time when the row was read or written
}

// A Query describes the row that a process wants to claim.
type Query struct {
	Terms        Terms
	Min, Max     int64  // the range of worker numbers, both included
	PreferWorker int64  // the best row is that of this worker number, if it is free; -1 for none
	PreferLabel  string // the next best is a free row that has this label; "" for none

	// Waiting is set while the process waits because all worker numbers are in use.
	// If no row is free, the store may then fill in only some fields of the Probe: the
	// row that becomes free first, HasNamespace, LastWorker = Max and Now.
	Waiting bool
}

// A Probe is the answer to a [Query].
type Probe struct {
	HasNamespace bool   // whether the namespace has the layout; if not, Fence and Fingerprint are not valid
	Fence        int64  // the least counter at which a lease may start
	Fingerprint  string // of the database, when the namespace was created or fenced
	Current      string // the fingerprint of the database now
	Volatile     bool   // whether the store may lose an acknowledged commit without a new fingerprint
	OneClock     bool   // whether no server with another clock can replace this one
	Now          int64  // the store's time
	LastWorker   int64  // the largest worker of the range that has a row, Min-1 if none has; not valid if HasFree

	// HasFree reports whether Row is a free row. Among equally good rows the store
	// chooses one at random, so that many processes do not try the same row. The store
	// may choose from some of the rows only. It prefers rows whose bound is not ahead of
	// its time, and it chooses a row whose claim would grant nothing only if there is
	// no other.
	//
	// If no row is free and Query.Waiting is set, Row is the row that becomes free
	// first. HasRow reports whether Row is set.
	Row     Row
	HasRow  bool
	HasFree bool
}

// A Claim takes a row.
type Claim struct {
	Terms    Terms
	Seen     Row
	Fence    int64  // as it was read together with the row; the lease starts at or above it
	Token    string // a new one
	Label    string
	Wanted   int64 // the requested bound, which the cap limits
	Volatile bool  // whether the probe said that the store is volatile
}

// A Renewal raises the bound of a lease.
type Renewal struct {
	Terms    Terms
	Held     Row
	Token    string // a new one; the same in each attempt to renew the same revision
	Wanted   int64  // the requested bound, which the cap limits
	Volatile bool   // whether the store was volatile when the row was claimed
}

// A Finding is something that looks wrong in a store.
type Finding struct {
	Kind   string // for programs; snowkey.Doctor and the Examine method of the store list the kinds
	Text   string // what is wrong, and with what
	Remedy string // what to do
}
