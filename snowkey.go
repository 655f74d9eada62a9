package snowkey

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// Config configures [Open]. The zero Config is ready to use.
type Config struct {
	// Layout says which bits of an id hold what. All processes of a namespace have
	// the same layout, or layouts that can never make the same id (see
	// [idgen.Layout.Compatible]). Defaults to idgen.DefaultLayout().
	Layout idgen.Layout

	// Namespace is the scope in which ids are unique. Processes that fill the same
	// tables must use the same namespace. At most 64 bytes. Defaults to "default".
	Namespace string

	// MinWorker and MaxWorker limit the worker numbers that may be leased, both
	// included, for instance to give each data center a range. MaxWorker 0 means the
	// largest of the layout.
	MinWorker, MaxWorker int64

	// Label names this process in errors and in the table. It should be the same
	// after a restart. Defaults to the host's name, $PORT if it is set, and the
	// address of a network card.
	Label string

	// PreferSame prefers the worker number that a process with this Label held
	// last, if it is free.
	PreferSame bool

	// Window is how long ids can be issued while the store is unavailable. The lease
	// is renewed after a third of Window. All processes of a namespace have
	// the same Window. Defaults to 10 s.
	Window time.Duration

	// TTL is how long the worker number of a process that was killed stays
	// reserved. Other processes wait for MaxClockSkew in addition. Not less than
	// Window. Defaults to one and a half times Window.
	TTL time.Duration

	// MaxClockSkew is how far the host's clock may be from the store's clock. It is
	// also how far the clocks of two database servers may differ if one replaces the
	// other. In a new namespace, the first id is issued this much later. All
	// processes of a namespace have the same MaxClockSkew. Defaults to 1 s.
	MaxClockSkew time.Duration

	// SkipMigrate prevents Open from creating the tables. Use it if your own
	// migration creates them.
	SkipMigrate bool

	// OnLost is called in a goroutine of its own after a lease was lost.
	OnLost func(*lease.LostError)

	// These fields have the meaning and the defaults of the fields of
	// [idgen.Config] with the same names.
	MaxAhead, MaxWait, MaxBehind time.Duration
	NoSpread                     bool
	MaxNames                     int

	// Clock returns the host's time, for tests. It must be safe for concurrent use.
	// Defaults to the system clock.
	Clock func() time.Time

	// Logger receives messages about the lease and the clock. Defaults to
	// slog.Default().
	Logger *slog.Logger
}

// Open leases a worker number from store and returns a pool of ids. It returns
// when the first id can be issued. If the store is unavailable or all worker numbers are
// in use, Open tries again until ctx ends, and the error then names the reason.
// [idgen.Pool.Close] releases the worker number.
//
// While the store is unavailable, ids are issued for Window. After that, calls
// wait for the store until their context ends. When the lease is lost, the pool
// leases another worker number, and calls wait for it. [idgen.Pool.Health] reports
// both.
func Open(ctx context.Context, store lease.Store, cfg Config) (*idgen.Pool, error) {
	newPool := leased.NewPool.(func(idgen.Config, func(leased.Issuer) (leased.Keeper, error)) (*idgen.Pool, error))
	return newPool(cfg.pool(), func(issuer leased.Issuer) (leased.Keeper, error) {
		return keeper.Open(ctx, store, issuer, cfg.keeper())
	})
}

// Fence makes all leases that are claimed from now on start above every id that may have
// been issued before. This includes ids under leases of a database that this one replaced.
// Processes do the same themselves if the fingerprint or an older row shows a restore.
// Some restores are not detected: a snapshot of a disk or machine, or an older dump that
// did not recreate the tables. After such a restore, call Fence before processes start
// again. docs/leases.md lists these restores.
//
// Call it with the Config of [Open]. The error is [lease.ErrNoNamespace] if there is
// nothing to fence, a [*lease.ConfigError] or a [*lease.StoreError].
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	return keeper.Fence(ctx, store, cfg.keeper())
}

// Doctor looks for rows of a namespace, and for settings of its store, that look
// wrong. It changes nothing and needs no lease. The findings explain why no ids are
// issued, why ids are ahead of the clock, or what a crash would cost. Doctor cannot show
// that an id was issued a second time, and it does not detect a bound that was lowered by
// hand.
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
// The store adds its own findings: see [lease.Store].Examine. The error is
// [lease.ErrNoNamespace], a [*lease.ConfigError] or a [*lease.StoreError].
func Doctor(ctx context.Context, store lease.Store, cfg Config) ([]lease.Finding, error) {
	return keeper.Doctor(ctx, store, cfg.keeper())
}

func (cfg Config) layout() idgen.Layout {
	if cfg.Layout.IsZero() {
		return idgen.DefaultLayout()
	}
	return cfg.Layout
}

func (cfg Config) pool() idgen.Config {
	return idgen.Config{
		Layout: cfg.layout(), MaxAhead: cfg.MaxAhead, MaxWait: cfg.MaxWait, MaxBehind: cfg.MaxBehind,
		NoSpread: cfg.NoSpread, MaxNames: cfg.MaxNames, Clock: cfg.Clock, Logger: cfg.Logger,
	}
}

func (cfg Config) keeper() keeper.Config {
	layout := cfg.layout()
	c := keeper.Config{
		Layout: layout.String(), Epoch: layout.Epoch(), Unit: layout.Unit(), PerTick: 1, Workers: 1,
		Namespace: cfg.Namespace, MinWorker: cfg.MinWorker, MaxWorker: cfg.MaxWorker, Label: cfg.Label, PreferSame: cfg.PreferSame,
		Window: cfg.Window, TTL: cfg.TTL, MaxClockSkew: cfg.MaxClockSkew, SkipMigrate: cfg.SkipMigrate,
		OnLost: cfg.OnLost, Logger: cfg.Logger, Clock: cfg.Clock,
		Compatible: func(stored string, from time.Time) error {
			other, err := idgen.ParseLayout(stored)
			if err != nil {
				return err
			}
			return layout.Compatible(other, from)
		},
	}
	for _, f := range layout.Fields() {
		switch {
		case f.Fixed:
		case f.Name == "worker":
			c.Workers = 1 << f.Bits
		case f.Name == "sequence":
			c.PerTick = 1 << f.Bits
		}
	}
	return c
}
