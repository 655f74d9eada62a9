// Package leased connects the pools of package idgen with the leases of package
// lease, which do not import each other. Package snowkey calls [NewPool] to make a
// pool whose worker number is leased. A [Keeper] claims and renews the lease, and
// tells the pool about it through the pool's [Issuer].
package leased

import (
	"context"
	"time"
)

// An Issuer is the part of a pool that its keeper controls. A counter is the tick and
// the sequence of the pool's layout, packed into one integer. Only one goroutine at a
// time may call the methods of an Issuer.
type Issuer interface {
	// Grant begins a lease. From then on, ids have this worker number, and their
	// counters are at least start and below bound. The keeper must have called Seal
	// for the previous lease.
	Grant(worker, start, bound int64)

	// Extend raises the bound of the lease and never lowers it. Without a lease
	// it does nothing.
	Extend(bound int64)

	// Seal ends the lease, if there is one. Once Seal has returned, no id is issued
	// until the next Grant. Seal returns the first counter that no generator has
	// used, which is at least the start of the lease. Calls for ids wait for the next
	// lease. If their context ends first, their error wraps reason.
	Seal(reason error) (unused int64)

	// Explain sets the reason that waiting calls and [idgen.Pool.Health] report.
	// Nil means that there is none.
	//
	// [idgen.Pool.Health]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#Pool.Health
	Explain(reason error)

	// Correct sets an offset that is added to the time whenever the pool reads the
	// host's clock. It replaces any previous offset. The keeper calls it once it
	// knows that the host's clock is wrong. Calls that are waiting for a lease then
	// read the clock again immediately, while calls that are waiting for the clock
	// to catch up do so within 100 ms. A call that has read the clock before Correct
	// may still fail with a ClockError.
	//
	// No offset makes an id repeat, because a generator continues above its last
	// number. An id from a clock that was ahead stays ahead. Later calls wait or
	// fail until the clock has reached it.
	Correct(offset time.Duration)
}

// Stats are the Lease of [idgen.Stats], which describes the fields.
type Stats struct {
	Claims, Renewals, Failures, Losses int64
	RenewalTime, LastRenewal           time.Duration
}

// A Keeper leases a worker number for an [Issuer] and renews it. Its methods are
// safe for concurrent use.
type Keeper interface {
	// Want tells the keeper that counters below end are needed and not all of them are
	// granted yet. The keeper requests them with its next renewal. Want does not block.
	Want(end int64)

	// RenewSoon requests a renewal, which also corrects the clock. A generator calls
	// RenewSoon when a call fails because the corrected clock is too far behind. The
	// last correction may be outdated then. RenewSoon does not block.
	RenewSoon()

	// Suspend seals the issuer and releases the worker number. It does nothing if
	// the keeper is suspended.
	Suspend(ctx context.Context) error

	// Resume leases a worker number and grants it. It does nothing if the keeper
	// has one.
	Resume(ctx context.Context) error

	// Stats returns the counters since the keeper was opened.
	Stats() Stats

	// Close seals the issuer and releases the worker number. The pool calls it
	// once.
	Close(ctx context.Context) error
}

// NewPool makes a pool whose worker number comes from a keeper. It calls open with the
// pool's issuer, and open returns the keeper. In cfg, neither Worker nor Rotate is set.
// Rotate would be unsafe, because an earlier holder of the worker number may have used
// the rollback numbers.
//
// Package idgen sets NewPool, as package log sets log/internal.DefaultOutput. Its
// type is
//
//	func(cfg idgen.Config, open func(Issuer) (Keeper, error)) (*idgen.Pool, error)
var NewPool any
