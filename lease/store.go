package lease

import "context"

// A Store keeps the leases of namespaces. It must execute the updates of a row one
// after the other, and it must not lose a commit that it acknowledged, unless its
// fingerprint changes or it reports that it may lose commits (see [Probe].Volatile).
//
// Keepers rely only on replies to writes, because what a read returns may not be on the
// disk yet and may be gone after a crash. All that a keeper takes from a read is the
// token and the revision with which it continues.
//
// A call affects only the rows of its namespace and layout. Each method is atomic,
// except AddRows, which is atomic for each row. Note that an error doesn't mean that a
// call had no effect: it may have been executed even though the reply was lost, or it
// may be executed later because the request was delayed. Keepers can deal with both.
// Implementations should be tested with package leasetest, whose suite every Store must
// pass.
//
// Methods should return [ErrNotMigrated] if the tables or files are missing, a
// [*VersionError] for a version that the store does not know, and a [*PermanentError]
// if a retry can't help.
//
// A Store may also have a method Reserve() (release func(), warning string). A keeper calls
// it before its first claim, and release after the lease was released. It reserves
// something for the store, such as a connection that the application then can't use. If
// warning is not "", it says why ids may stop nevertheless, and what to do.
//
// A Store must be safe for concurrent use.
type Store interface {
	// Migrate creates the tables or files in which leases are kept, if they are missing.
	// It must be possible for many processes to call it at the same time.
	Migrate(ctx context.Context) error

	// Layouts returns the namespace's layouts and the position at which the next
	// layout is to be added. It includes layouts that have rows but were not added
	// with CreateNamespace.
	Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error)

	// CreateNamespace adds the layout to the namespace and reports whether it did. It
	// stores the current fingerprint with the layout, and uses [Limits].NewFence as the
	// fence. If the layout exists already, or if another layout was added at position,
	// CreateNamespace does nothing.
	CreateNamespace(ctx context.Context, terms Terms, position int64) (created bool, err error)

	// Probe reads everything that a claim depends on, without taking locks. If the
	// tables or files can't be used, it returns [ErrNotMigrated], a [*VersionError] or a
	// [*PermanentError].
	Probe(ctx context.Context, q Query) (Probe, error)

	// Fence stores the current fingerprint and raises the fence to [Limits].RaisedFence,
	// but only if the stored fingerprint still equals seen. If seen is "", the
	// fingerprint is not compared.
	Fence(ctx context.Context, terms Terms, seen string) error

	// AddRows adds a free row for each worker from min to max that doesn't have one. It
	// must not change existing rows. The bound of a new row is [Limits].RaisedFence,
	// which is above everything that a lost row of the worker can have granted, or
	// [Limits].NewFence while the namespace does not exist. A store that loses a row only
	// together with its namespace may use [Limits].Tick. AddRows may add fewer rows
	// than requested, but it must add the row of min, unless another process is adding
	// that row at the same time. Each row is added in a step of its own.
	AddRows(ctx context.Context, terms Terms, min, max int64) error

	// Claim takes a row and reports true if all these conditions hold: the row and its
	// bound are unchanged since the probe, and the row is still free; the fence is
	// unchanged; the namespace's fingerprint is the current one; and the store is not
	// volatile, unless the probe already said that it is. Otherwise, it must change
	// nothing and report false.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Renew raises a lease's bound and reports true if all these conditions hold: the
	// row still has the token and the revision that the holder knows; the lease has not
	// expired; and the store is not volatile, unless it was volatile when the row was
	// claimed. Otherwise, it must change nothing and report false.
	Renew(ctx context.Context, r Renewal) (Row, bool, error)

	// Release frees a row if it still has the token and the revision of held, and
	// reports whether it did. It also lowers the row's bound to unused, the first
	// counter that was not used, but never raises it.
	Release(ctx context.Context, terms Terms, held Row, unused int64) (bool, error)

	// Rows returns the rows of the workers from min to max, ordered by worker.
	Rows(ctx context.Context, terms Terms, min, max int64) ([]Row, error)

	// Examine returns the settings of the store that endanger leases and that Probe
	// doesn't check. They are reported by snowkey.Doctor.
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

	// Waiting is set while the process waits because all worker numbers are in use. In
	// this case, if no row is free, the store only has to fill in a few fields of the
	// Probe: the row that becomes free first, HasNamespace, LastWorker = Max and Now.
	Waiting bool
}

// A Probe is the answer to a [Query].
type Probe struct {
	HasNamespace bool   // whether the namespace has the layout; if not, Fence and Fingerprint are not valid
	Fence        int64  // the least counter at which a lease may start
	Fingerprint  string // of the database, when the namespace was created or fenced
	Current      string // the fingerprint of the database now
	Volatile     bool   // whether the store may lose an acknowledged commit without a new fingerprint
	OneClock     bool   // whether all processes run on the store's host, so that missing rows may be added without a pause
	Now          int64  // the store's time
	LastWorker   int64  // the largest worker of the range that has a row, Min-1 if none has; not valid if HasFree

	// HasFree reports whether Row is a free row. The store may choose from only some of
	// the rows. It should prefer rows whose bound is not ahead of its time, and should
	// choose a row whose claim would grant nothing only if there is no other. If several
	// rows are equally good, it should pick one at random, so that many processes don't
	// all try the same row.
	//
	// If no row is free and Query.Waiting is set, Row is the row that becomes free
	// first. HasRow reports whether Row is set at all.
	Row     Row
	HasRow  bool
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
	Kind   string // for programs; snowkey.Doctor and the Examine method of the store list the kinds
	Text   string // what is wrong, and with what
	Remedy string // what to do
}
