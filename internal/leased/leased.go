// Package leased joins the pools of package idgen with the leases of package
// lease, which do not import each other. Package snowkey makes a pool with
// [NewPool]: the pool is the [Issuer] of a [Keeper].
package leased

import (
	"context"
	"time"
)

// An Issuer is the side of a pool that its keeper controls. The counters that it
// is granted are those of the layout: tick and sequence packed. Its methods are
// for one goroutine at a time.
type Issuer interface {
	// Grant begins a lease: ids have this worker number, and their counters are
	// at least start and below bound. The lease before must have been sealed.
	Grant(worker, start, bound int64)

	// Extend raises the bound of the lease and never lowers it. Without a lease
	// it does nothing.
	Extend(bound int64)

	// Seal ends the lease, if there is one: once Seal returns, no id is issued. It
	// returns the first counter that no generator has used, at least the start
	// of the lease. Calls for ids wait for the next lease. If their context ends
	// first, they fail with reason.
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

// A Keeper leases a worker number for an [Issuer] and renews it. Its methods are
// safe for concurrent use.
type Keeper interface {
	// Want requests counters below end, which are needed and not yet granted. It
	// does not block.
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

	// Close seals the issuer and releases the worker number. The pool calls it
	// once.
	Close(ctx context.Context) error
}

// NewPool makes a pool without a worker number of its own. It calls open with the
// pool's issuer, and open returns the keeper. The configuration has no Worker,
// and no Rotate: an earlier holder of the worker number may have used the
// rollback numbers.
//
// Package idgen sets NewPool, as package log sets log/internal.DefaultOutput. Its
// type is
//
//	func(cfg idgen.Config, open func(Issuer) (Keeper, error)) (*idgen.Pool, error)
var NewPool any
