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
	// Layout divides the bits of an id into fields. All processes in a namespace must use
	// the same layout, or layouts that can't produce the same id (see
	// [idgen.Layout.Compatible]). [Config.ForService] sets it for a service. Defaults to
	// idgen.DefaultLayout().
	Layout idgen.Layout

	// Namespace is the scope within which ids are unique. Use the same namespace in all
	// processes that insert rows into the same tables. It can be up to 64 bytes long.
	// Defaults to "default".
	Namespace string

	// MinWorker and MaxWorker (both inclusive) limit which worker numbers Open may lease.
	// This is useful if processes with different stores must not generate the same ids:
	// give each store its own range. A MaxWorker of 0 means the layout's largest worker
	// number. [Config.ForService] sets both for a service.
	MinWorker, MaxWorker int64

	// Label identifies this process in errors and in the lease table, so that you can see
	// who holds a worker number. It should stay the same across restarts. Defaults to the
	// host name, $PORT if set, and the address of a network card.
	Label string

	// PreferSame makes Open first try the worker number that a process with the same
	// Label held last. If that number isn't free, Open leases another.
	PreferSame bool

	// Window is about how long the pool continues to issue ids after the store has become
	// unavailable. The lease is renewed every third of a Window. Must be the same for all
	// processes in a namespace. Defaults to 10 s.
	Window time.Duration

	// TTL is how long the worker number of a killed process stays reserved. Other
	// processes can lease the number MaxClockSkew after that. Must not be less than
	// Window. Defaults to one and a half times Window.
	TTL time.Duration

	// MaxClockSkew is the maximum tolerated difference between the clocks of the host and
	// the store, and between two database servers if one may take over from the other. The
	// first id in a new namespace is delayed by this time. Must be the same for all
	// processes in a namespace. Defaults to 1 s.
	MaxClockSkew time.Duration

	// MaxBlocked limits how long a call waits for ids if the process itself prevents the
	// renewal of its lease. This happens when transactions that wait for ids use all
	// connections of the *sql.DB. After this time, the call fails with a
	// [*lease.BlockedError], even if its context hasn't ended. MaxBlocked doesn't limit
	// how long a call waits for an unavailable store. Defaults to two times Window.
	MaxBlocked time.Duration

	// SkipMigrate stops Open from creating the lease tables. Use this if your own
	// migrations create them.
	SkipMigrate bool

	// OnLost, if not nil, is called in its own goroutine after a lease is lost.
	OnLost func(*lease.LostError)

	// MaxAhead limits how far the times in ids may be ahead of the clock during a burst,
	// as in [idgen.Config]. The default is higher than the 10 ms there, because the lease
	// ensures that no other process issues the same ids. Even with idgen.NoLimit, ids stay
	// below the lease's bound, and calls wait for the next renewal before they reach it.
	// Defaults to a tenth of Window, or one unit of the layout if that's longer.
	MaxAhead time.Duration

	// These have the same meaning and defaults as their namesakes in [idgen.Config].
	MaxWait, MaxBehind time.Duration
	NoSpread           bool
	MaxNames           int

	// Clock replaces the host's clock in tests. It must be safe for concurrent use.
	// Defaults to the system clock.
	Clock func() time.Time

	// Logger receives messages about the lease and the clock. Defaults to slog.Default().
	Logger *slog.Logger
}

// Open leases a worker number from store and returns a pool that's ready to issue ids. Call
// [idgen.Pool.Close] to release the worker number.
//
// If the store is unavailable or all worker numbers are in use, Open tries again until ctx
// ends. The error then says why it didn't succeed.
//
// If the store later becomes unavailable, the pool continues to issue ids for
// [Config.Window]. After that, calls block until the store is available again or their
// context ends (see [Config.MaxBlocked] for an exception). If the pool loses its lease, it
// claims another worker number, and calls block until it has one. [idgen.Pool.Health]
// reports both situations.
func Open(ctx context.Context, store lease.Store, cfg Config) (*idgen.Pool, error) {
	pool, own, err := cfg.split()
	if err != nil {
		return nil, err
	}
	return idgen.NewLeased(pool, func(issuer leased.Issuer) (leased.Keeper, error) {
		return keeper.Open(ctx, store, issuer, own)
	})
}

// OpenBackfill reserves a worker number for generating ids with times you choose, e.g.
// when importing old rows. It only picks a number that's never been leased, and which
// can't be leased later either as long as its row stays in the lease table. The ids from
// a Backfill therefore won't collide with any that processes make. The name identifies
// the import. Calling OpenBackfill again with the same name returns the same number,
// which lets you repeat or resume an import. Imports into the same table need different
// names.
//
// Pass the same Config as for [Open]. If you've set aside some numbers for imports, set
// MinWorker and MaxWorker to that range. You'll get a [*lease.PermanentError] with a
// suggested remedy if the store might lose commits without leaving a trace, if the
// namespace may already have lost some, or if every number has been leased before.
// Otherwise, OpenBackfill returns the same errors as Open.
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

// Fence makes every lease claimed from now on start above all ids that might already have
// been issued, including those issued under the leases of a database this one has
// replaced. Processes do this by themselves when they notice a restore, either from the
// fingerprint or from a row that's older than it should be. What they can't notice is a
// restored disk or VM snapshot, or an older dump loaded into the existing tables. You must
// call Fence after one of those, before starting any processes (docs/leases.md has the
// full list).
//
// Pass the same Config as for [Open]. The error is [lease.ErrNoNamespace] if there's
// nothing to fence, or a [*lease.StoreError].
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	_, own, err := cfg.split()
	if err != nil {
		return err
	}
	return keeper.Fence(ctx, store, own)
}

// Doctor checks a namespace for suspicious rows, and its store for suspicious settings.
// It's read-only and doesn't need a lease. The findings help explain why no ids are being
// issued, why ids are running ahead of the clock, or what you stand to lose in a crash.
// Note that it can't tell you whether a duplicate id has been issued. It won't spot a
// bound somebody lowered by hand either.
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
// Stores add findings of their own (see [lease.Store].Examine). The error is
// [lease.ErrNoNamespace] or a [*lease.StoreError].
func Doctor(ctx context.Context, store lease.Store, cfg Config) ([]lease.Finding, error) {
	_, own, err := cfg.split()
	if err != nil {
		return nil, err
	}
	return keeper.Doctor(ctx, store, own)
}

// ForService returns cfg with the layout and the worker range that a shared file assigns
// to a service. Note that file is the text itself, not a path. As long as they all use the
// same file, services won't generate the same id even if each has a store of its own.
// Within a service, all processes must share one store and Namespace. The error tells you
// what's wrong with the file, or with cfg: MinWorker and MaxWorker have to be unset, and
// Layout has to be unset or the same as in the file. See docs/services.md for the format.
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
