package snowkey

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// Config configures [Open]. The zero Config is ready to use.
type Config struct {
	// Layout says which bits of an id hold what. All processes of a namespace have
	// the same layout, or layouts that can never make the same id (see
	// [idgen.Layout.Compatible]). Defaults to idgen.DefaultLayout().
	Layout idgen.Layout

	// Namespace is the scope in which ids are unique: processes that fill the same
	// tables share a namespace. At most 64 bytes. Defaults to "default".
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

	// MaxClockSkew is how far the host's clock may be from the store's clock, and
	// how far the clocks of servers may differ that replace each other. A new
	// namespace issues its first id this much later. All processes of a namespace
	// have the same MaxClockSkew. Defaults to 1 s.
	MaxClockSkew time.Duration

	// SkipMigrate leaves the tables to your own migration.
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

	// Logger receives what happens to the lease and to the clock. Defaults to
	// slog.Default().
	Logger *slog.Logger
}

// Open leases a worker number from store and returns a pool of ids. It returns
// when the first id can be issued. If the store is unavailable or all worker numbers are
// in use, Open tries again until ctx ends; the error then says which.
// [idgen.Pool.Close] releases the worker number.
//
// While the store is unavailable, ids are issued for Window. After that, calls
// wait for the store until their context ends. When the lease is lost, the pool
// leases another worker number, and calls wait for it. [idgen.Pool.Health] reports
// both.
func Open(ctx context.Context, store lease.Store, cfg Config) (*idgen.Pool, error) {
	newPool := leased.NewPool.(func(idgen.Config, func(leased.Issuer) (leased.Keeper, error)) (*idgen.Pool, error))
	return newPool(cfg.pool(), func(issuer leased.Issuer) (leased.Keeper, error) {
		return lease.Open(ctx, store, issuer, cfg.lease())
	})
}

// Fence makes all leases that are claimed from now on start above every id that
// may have been issued before. Call it with the Config of [Open] after a restore
// that the database does not show; see [lease.Fence].
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	return lease.Fence(ctx, store, cfg.lease())
}

// Doctor looks for rows and settings that look wrong. Call it with the Config
// of [Open]; see [lease.Doctor].
func Doctor(ctx context.Context, store lease.Store, cfg Config) ([]lease.Finding, error) {
	return lease.Doctor(ctx, store, cfg.lease())
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

func (cfg Config) lease() lease.Config {
	layout := cfg.layout()
	c := lease.Config{
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
