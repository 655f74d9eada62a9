package lease

import "context"

// A Store keeps leases for any number of namespaces. It must execute updates to a row one
// after the other. It also must not lose commits it has acknowledged, unless losing them
// changes its fingerprint or it reports that it may lose some (see [Probe].Volatile).
//
// Keepers only rely on replies to writes. What a read returns may not be on disk yet, and
// could be gone after a crash, so the token and the revision to continue with are all
// that a keeper takes from one.
//
// A call affects only the rows of its namespace and layout. Every method is atomic,
// except for AddRows which is atomic per row. Note that returning an error doesn't mean a
// call had no effect: the reply might have been lost after the call was executed, or a
// delayed request might still be executed later. Keepers can handle both. Package
// leasetest has a test suite that every Store must pass.
//
// Methods should return [ErrNotMigrated] if the tables or files are missing, a
// [*VersionError] for a version the store doesn't know, and a [*PermanentError] if
// there's no point in retrying.
//
// A Store can have one more method, Reserve() (release func(), warning string), which
// reserves something the store will need, like a connection that the application then
// can't use. A keeper calls it before its first claim, and calls release once the lease
// has been released. A warning other than "" says why ids might stop despite the
// reservation, and what to do about it.
//
// A Store must be safe for concurrent use.
type Store interface {
	// Migrate creates the tables or files for leases if they're missing. Many processes
	// may be calling it at the same time.
	Migrate(ctx context.Context) error

	// Layouts returns the namespace's layouts and the position for adding the next one.
	// This includes any layouts that have rows but weren't added with CreateNamespace.
	Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error)

	// CreateNamespace adds the layout to the namespace and reports whether it did. The
	// layout is stored with the current fingerprint, and with [Limits].NewFence as its
	// fence. If the layout is already there, or another one was added at position,
	// CreateNamespace does nothing.
	CreateNamespace(ctx context.Context, terms Terms, position int64) (created bool, err error)

	// Probe reads everything that a claim depends on, without taking locks. It returns
	// [ErrNotMigrated], a [*VersionError] or a [*PermanentError] if the tables or files
	// can't be used.
	Probe(ctx context.Context, q Query) (Probe, error)

	// Fence stores the current fingerprint and raises the fence to [Limits].RaisedFence,
	// provided the stored fingerprint still equals seen. Set seen to "" to skip that
	// comparison.
	Fence(ctx context.Context, terms Terms, seen string) error

	// AddRows adds a free row for each worker from min to max that doesn't have one,
	// leaving existing rows alone. New rows get [Limits].RaisedFence as their bound,
	// which is above anything that a lost row of the same worker could have granted, or
	// [Limits].NewFence while the namespace doesn't exist. (Stores that can only lose a
	// row together with its namespace may use [Limits].Tick.) Adding fewer rows than
	// requested is fine as long as the row of min is added, unless another process is
	// adding that one at the same time. Each row is added in a step of its own.
	AddRows(ctx context.Context, terms Terms, min, max int64) error

	// Claim takes a row and reports true if all these conditions hold: the row and its
	// bound haven't changed since the probe, and the row is still free; the fence hasn't
	// changed; the namespace's fingerprint is the current one; and the store isn't
	// volatile, unless the probe already said so. Otherwise, it must change nothing and
	// report false.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Renew raises a lease's bound and reports true if all these conditions hold: the row
	// still has the token and revision known to the holder; the lease hasn't expired; and
	// the store isn't volatile, unless it already was when the row was claimed.
	// Otherwise, it must change nothing and report false.
	Renew(ctx context.Context, r Renewal) (Row, bool, error)

	// Release frees a row if its token and revision still match those of held, and
	// reports whether it did. It also lowers the row's bound to unused, the first counter
	// that wasn't used, but never raises it.
	Release(ctx context.Context, terms Terms, held Row, unused int64) (bool, error)

	// Rows returns the rows of the workers from min to max, ordered by worker.
	Rows(ctx context.Context, terms Terms, min, max int64) ([]Row, error)

	// Examine returns settings of the store that put leases at risk and that Probe
	// doesn't check. snowkey.Doctor reports them.
	Examine(ctx context.Context) ([]Finding, error)
}

// A Row is the state of one worker number in a store.
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
	PreferWorker int64  // if the row of this worker number is free, the store should choose it; -1 for none
	PreferLabel  string // otherwise, the store should prefer a free row with this label; "" for none

	// Waiting is set while the process is waiting because all worker numbers are in use.
	// If it's set and no row is free, the store only has to fill in part of the Probe:
	// the row that becomes free first, HasNamespace, LastWorker = Max and Now.
	Waiting bool
}

// A Probe is the answer to a [Query].
type Probe struct {
	HasNamespace bool   // whether the namespace has the layout; if not, Fence and Fingerprint are not valid
	Fence        int64  // the least counter at which a lease may start
	Fingerprint  string // of the database, when the namespace was created or fenced
	Current      string // the fingerprint of the database now
	Volatile     bool   // whether the store may lose an acknowledged commit without a new fingerprint
	OneClock     bool   // whether all processes run on the store's host, and it loses a row only with its namespace; rows may be added without a pause
	Now          int64  // the store's time
	LastWorker   int64  // the largest worker of the range that has a row, Min-1 if none has; not valid if HasFree

	// HasFree reports whether Row is a free row. The store doesn't have to look at all of
	// its rows. It should prefer rows whose bound isn't ahead of its time, and should
	// only choose a row whose claim would grant nothing if that's all there is. Among
	// equally good rows, it should pick one at random so that lots of processes starting
	// together don't all try the same row.
	//
	// If no row is free and Query.Waiting is set, Row is the one that becomes free first.
	Row     Row
	HasFree bool
}

// A Claim takes a row.
type Claim struct {
	Terms    Terms
	Seen     Row
	Fence    int64  // the fence that was read together with the row; the lease starts at or above it
	Token    string // a new one
	Label    string
	Wanted   int64 // the requested bound, which the cap limits
	Volatile bool  // whether the probe said that the store is volatile
}

// A Renewal raises the bound of a lease.
type Renewal struct {
	Terms    Terms
	Held     Row
	Token    string // a new token, but every attempt to renew the same revision must use the same one
	Wanted   int64  // the requested bound, which the cap limits
	Volatile bool   // whether the store was volatile when the row was claimed
}

// A Finding is something that looks wrong in a store.
type Finding struct {
	Kind   string `json:"kind"`   // for programs; snowkey.Doctor and the Examine method of the store list the kinds
	Text   string `json:"text"`   // what is wrong, and with what
	Remedy string `json:"remedy"` // what to do
}
