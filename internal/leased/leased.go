// Package leased connects the pools in package idgen to the leases in package lease,
// which don't import each other. Package snowkey creates a pool with a leased worker
// number by calling idgen.NewLeased. A [Keeper] then claims and renews the lease, and
// keeps the pool informed through its [Issuer].
package leased

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// An Issuer is the part of a pool that its keeper controls. A counter is the tick and
// the sequence of the pool's layout, packed into one integer. The methods of an Issuer
// must not be called concurrently.
type Issuer interface {
	// Grant begins a lease. From then on, ids have this worker number, and their
	// counters are at least start and below bound. If there was a previous lease, the
	// keeper must call Seal first.
	Grant(worker, start, bound int64)

	// Extend raises the bound of the lease, but never lowers it. Without a lease, it
	// does nothing.
	Extend(bound int64)

	// Seal ends the lease, if there is one. Once Seal has returned, no id is issued
	// until the next Grant, and calls for ids wait for it. If a call's context ends
	// first, its error wraps reason. Seal returns the first counter that no generator
	// has used, which is at least the start of the lease.
	Seal(reason error) (unused int64)

	// Explain sets the reason that waiting calls and [idgen.Pool.Health] report. A nil
	// reason clears it.
	//
	// [idgen.Pool.Health]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#Pool.Health
	Explain(reason error)

	// Correct sets an offset that is added to the time whenever the pool reads the
	// host's clock. It replaces any previous offset. The keeper calls Correct once it
	// knows that the host's clock is wrong. Calls that are waiting for a lease then read
	// the clock again immediately, whereas calls that are waiting for the clock to catch
	// up do so within 100 ms. A call that had already read the clock may still fail with
	// a ClockError.
	//
	// No offset can make an id repeat, because a generator always continues above its
	// last number. Note, however, that if the clock was ahead, ids that were already
	// issued stay ahead, so later calls wait or fail until the clock has reached them.
	Correct(offset time.Duration)
}

// Stats has the same fields as Lease in [idgen.Stats], where they are described.
type Stats struct {
	Claims, Renewals, Failures, Losses int64
	RenewalTime, LastRenewal           time.Duration
}

// A Keeper leases a worker number for an [Issuer] and renews it. Its methods are
// safe for concurrent use.
type Keeper interface {
	// Want tells the keeper that the issuer needs counters below end and that not all of
	// them are granted yet. The keeper will request them with its next renewal. Want
	// does not block.
	Want(end int64)

	// RenewSoon requests a renewal, which also corrects the clock. A generator calls it
	// when a call fails because the corrected clock is too far behind, since the last
	// correction may be outdated by then. RenewSoon does not block.
	RenewSoon()

	// Suspend seals the issuer and releases the worker number. It does nothing if
	// the keeper is suspended.
	Suspend(ctx context.Context) error

	// Resume leases a worker number and grants it. It does nothing if the keeper already
	// has one.
	Resume(ctx context.Context) error

	// Stats returns what the keeper has counted since it was opened.
	Stats() Stats

	// Close seals the issuer and releases the worker number. The pool calls it
	// once.
	Close(ctx context.Context) error
}

// Reserve reserves what a store needs, such as a connection, until release is called. If
// warning is not "", it says why ids may still stop, and what to do. Most stores need
// nothing.
func Reserve(store any) (release func(), warning string) {
	if r, ok := store.(interface{ Reserve() (func(), string) }); ok {
		return r.Reserve()
	}
	return func() {}, ""
}

// Storable reports whether all stores can store text without changing it.
func Storable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && !strings.HasSuffix(text, " ")
}

// A BlockedError reports that this process itself keeps a store from answering, usually
// because transactions that wait for ids have all connections of a *sql.DB. Packages lease
// and segment export it.
type BlockedError struct {
	Cause  string // what is in use, and for how long
	Remedy string
	Err    error

	// Limit is how long a call waits because of this. After that, it returns the error,
	// even if its context has not ended.
	Limit time.Duration
}

func (e *BlockedError) Error() string { return fmt.Sprintf("%s; %s", e.Cause, e.Remedy) }

// Unwrap returns Err, which is usually that of a context.
func (e *BlockedError) Unwrap() error { return e.Err }
