package snowkey

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fleet"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// Config configures [Open]. The zero Config is ready to use.
type Config struct {
	// Layout divides the bits of an id into fields. All processes of a namespace must
	// have the same layout, or layouts that can never make the same id (see
	// [idgen.Layout.Compatible]). Defaults to the layout of Fleet, or to
	// idgen.DefaultLayout().
	Layout idgen.Layout

	// Namespace is the scope in which ids are unique. Processes that fill the same
	// tables must use the same namespace. It can have up to 64 bytes. Defaults to
	// "default".
	Namespace string

	// MinWorker and MaxWorker limit the worker numbers that may be leased, both
	// included, so that processes with other stores can have the others. If MaxWorker
	// is 0, the limit is the largest worker number of the layout. [Config.ForService]
	// sets both for a service.
	MinWorker, MaxWorker int64

	// Label names this process in errors and in the table. It should be the same after
	// a restart. Defaults to the host's name, followed by $PORT if it is set, and the
	// address of a network card.
	Label string

	// PreferSame makes Open prefer the worker number that a process with this Label
	// held last, provided that it is free.
	PreferSame bool

	// Window is the time for which ids can be issued while the store is unavailable.
	// The lease is renewed after a third of it. All processes of a namespace must have
	// the same Window. Defaults to 10 s.
	Window time.Duration

	// TTL is how long the worker number of a killed process stays reserved. In
	// addition, other processes wait for MaxClockSkew. TTL must not be less than
	// Window. Defaults to one and a half times Window.
	TTL time.Duration

	// MaxClockSkew is the largest allowed difference between the host's clock and the
	// store's clock. It also applies to the clocks of two database servers if one can
	// replace the other. The first id of a new namespace is delayed by this time. All
	// processes of a namespace must have the same MaxClockSkew. Defaults to 1 s.
	MaxClockSkew time.Duration

	// MaxBlocked is how long a call waits for a lease that can't be renewed because this
	// process itself keeps the store from answering: transactions that wait for ids have
	// all connections of the *sql.DB. The call then fails with a [*lease.BlockedError],
	// even if its context has not ended. It doesn't limit the wait for a store that is
	// unavailable. Defaults to two times Window.
	MaxBlocked time.Duration

	// SkipMigrate prevents Open from creating the tables. Set it if your own migration
	// creates them.
	SkipMigrate bool

	// OnLost, if not nil, is called in its own goroutine after a lease was lost.
	OnLost func(*lease.LostError)

	// MaxAhead limits how far ids may run ahead of the clock, as in [idgen.Config]. A
	// lease allows more than the 10 ms that are the default there, because no other
	// process can issue the ids below the bound of the lease. Ids never reach the
	// bound, even with idgen.NoLimit: calls then wait for the next renewal. Defaults to
	// a tenth of Window, or to one unit of the layout if that is longer.
	MaxAhead time.Duration

	// These fields have the same meaning and defaults as the fields of [idgen.Config]
	// with the same names.
	MaxWait, MaxBehind time.Duration
	NoSpread           bool
	MaxNames           int

	// Clock returns the host's time, for tests. It must be safe for concurrent use.
	// Defaults to the system clock.
	Clock func() time.Time

	// Logger receives messages about the lease and the clock. Defaults to
	// slog.Default().
	Logger *slog.Logger
}

// Open leases a worker number from store and returns a pool of ids once the first id
// can be issued. If the store is unavailable or all worker numbers are in use, Open
// keeps trying until ctx ends, and then returns an error that gives the reason. Use
// [idgen.Pool.Close] to release the worker number.
//
// If the store becomes unavailable later, ids are issued for Window. After that, calls
// wait for the store until their context ends, or MaxBlocked has passed. If the lease is lost, the pool leases
// another worker number, and calls wait for that as well. [idgen.Pool.Health] reports
// both.
func Open(ctx context.Context, store lease.Store, cfg Config) (*idgen.Pool, error) {
	pool, own, err := cfg.split()
	if err != nil {
		return nil, err
	}
	return idgen.NewLeased(pool, func(issuer leased.Issuer) (leased.Keeper, error) {
		return keeper.Open(ctx, store, issuer, own)
	})
}

// OpenBackfill reserves a worker number for ids of given times, for example for imported
// rows. The number is one that no process has ever leased, and none will lease it as long as
// the row in the lease table exists. So the ids of the Backfill differ from those of all
// processes. The name identifies the import: with the same name, OpenBackfill returns the
// same number, so that the import can be repeated or continued. Another import into the same
// table needs another name.
//
// Call it with the same Config as [Open]. To choose from numbers that you keep for imports,
// set MinWorker and MaxWorker. A store that may lose commits without a trace, a namespace
// that may have lost some, or one in which processes have leased each number, is refused
// with a [*lease.PermanentError] that has the remedy. Errors are otherwise those of Open.
func OpenBackfill(ctx context.Context, store lease.Store, cfg Config, name string) (*idgen.Backfill, error) {
	pool, own, err := cfg.split()
	if err != nil {
		return nil, err
	}
	worker, bound, err := keeper.ReserveBackfill(ctx, store, own, name)
	if err != nil {
		return nil, err
	}
	end := time.UnixMicro(own.Epoch + bound/own.PerTick*own.Unit)
	return idgen.NewBackfill(idgen.BackfillConfig{Layout: pool.Layout, Worker: worker, End: end})
}

// Fence makes all leases that are claimed from now on start above every id that may
// have been issued before. This includes ids under leases of a database that this one
// replaced. Processes do the same on their own if the fingerprint or an older row shows
// a restore. However, they cannot detect that a snapshot of a disk or machine was
// restored, or an older dump that did not recreate the tables. After one of these
// restores, you must call Fence before processes start again. docs/leases.md lists
// them.
//
// Fence should be called with the same Config as [Open]. The error is
// [lease.ErrNoNamespace] if there is nothing to fence, or a [*lease.StoreError].
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	_, own, err := cfg.split()
	if err != nil {
		return err
	}
	return keeper.Fence(ctx, store, own)
}

// Doctor looks for rows of a namespace, and for settings of its store, that look wrong.
// It changes nothing and needs no lease. The findings explain why no ids are issued,
// why ids are ahead of the clock, or what a crash would cost. Note that Doctor cannot
// show whether an id was issued a second time, nor does it detect a bound that was
// lowered by hand.
//
//	clock          the host's clock and the store's differ by more than MaxClockSkew
//	volatile       the store may lose a commit that it acknowledged
//	history        the database is not the one that was last fenced
//	fence-ahead    the fence is further ahead than the store ever raises it
//	bound-ahead    the bound of a row is further ahead than that
//	expires-ahead  a lease lasts longer than TTL
//	no-such-worker a row has a worker number that the layout does not have
//	crowded        at least nine tenths of the worker numbers are leased
//
// The store adds its own findings (see [lease.Store].Examine). The error is
// [lease.ErrNoNamespace] or a [*lease.StoreError].
func Doctor(ctx context.Context, store lease.Store, cfg Config) ([]lease.Finding, error) {
	_, own, err := cfg.split()
	if err != nil {
		return nil, err
	}
	return keeper.Doctor(ctx, store, own)
}

// ForService returns cfg with the layout and the range of worker numbers that the text of a
// file gives a service. Services with the same file never make the same id, even if each of
// them has a store of its own. All processes of a service must have the same store and
// Namespace. The error says what is wrong with the file, or with cfg, which must not have
// another layout, MinWorker or MaxWorker. docs/services.md describes the file.
func (cfg Config) ForService(file, service string) (Config, error) {
	if cfg.MinWorker != 0 || cfg.MaxWorker != 0 {
		return cfg, fmt.Errorf("snowkey: Config.MinWorker %d and MaxWorker %d are set, and the file has a range for each service; leave them out", cfg.MinWorker, cfg.MaxWorker)
	}
	all, err := fleet.Parse(file)
	if err != nil {
		return cfg, err
	}
	own, err := all.Find(service)
	if err != nil {
		return cfg, err
	}
	if !cfg.Layout.IsZero() && cfg.Layout.String() != all.Layout.String() {
		return cfg, fmt.Errorf("snowkey: Config.Layout is %q, and the file has %q; services with different layouts could make the same id; leave out Config.Layout", cfg.Layout, all.Layout)
	}
	cfg.Layout, cfg.MinWorker, cfg.MaxWorker = all.Layout, own.First, own.Last
	return cfg, nil
}
