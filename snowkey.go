package snowkey

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
)

// Config configures [Open]. The zero Config is ready to use.
type Config struct {
	// Layout says which bits of an id hold what. All processes of a namespace
	// have the same. Defaults to idgen.DefaultLayout().
	Layout idgen.Layout

	// Namespace is what ids are unique in: processes that fill the same tables
	// share one. At most 64 bytes. Defaults to "default".
	Namespace string

	// MinWorker and MaxWorker limit the worker numbers to lease, both included,
	// to keep data centres apart. MaxWorker 0 means the largest of the layout.
	MinWorker, MaxWorker int64

	// Label names this process to people, in errors and reports. Defaults to the
	// host's name and the process's number.
	Label string

	// PreferSame prefers the worker number that a process of the same Label held
	// last, if it is free.
	PreferSame bool

	// Window is how long ids can be issued while the store is away; the lease is
	// renewed when two thirds of it are left. The same for all processes of a
	// namespace, as is MaxClockSkew. Defaults to 10 s.
	Window time.Duration

	// TTL is how long others wait before they take the worker number of a process
	// that ended without giving it back. Not less than Window. Defaults to one
	// and a half times Window.
	TTL time.Duration

	// MaxClockSkew is how far the host's clock may be from the store's when a
	// lease is claimed. Defaults to 2 s.
	MaxClockSkew time.Duration

	// SkipMigrate leaves the tables to your own migration.
	SkipMigrate bool

	// OnLost is called, in a goroutine of its own, when a lease was lost.
	OnLost func(*lease.LostError)

	// Logger is told what happens to the lease and to the clock. Defaults to
	// slog.Default().
	Logger *slog.Logger

	// Pool configures the generators: what they do when the clock is behind, and
	// the spread. Layout, Logger and Worker of it are not used.
	Pool idgen.Config
}

// Open leases a worker number from store and returns a pool of ids. It waits
// until ctx ends for a store that does not answer and while all worker numbers
// are taken; the error then says which. [idgen.Pool.Close] gives the worker
// number back.
//
// While the store is away ids go on for Window, and then calls wait for it as
// long as their context lasts. When the lease is lost, another is claimed, and
// calls wait for that. [idgen.Pool.Health] says which.
func Open(ctx context.Context, store lease.Store, cfg Config) (*idgen.Pool, error) {
	pool := cfg.Pool
	pool.Worker, pool.Layout, pool.Logger = nil, cfg.Layout, cfg.Logger
	if pool.Layout.IsZero() {
		pool.Layout = idgen.DefaultLayout()
	}
	return idgen.NewLeased(pool, func(issuer *idgen.Issuer) (idgen.Lessor, error) {
		return lease.Open(ctx, store, issuer, cfg.lease(pool.Layout))
	})
}

func (cfg Config) lease(layout idgen.Layout) lease.Config {
	c := lease.Config{
		Layout: layout.String(), Epoch: layout.Epoch(), Unit: layout.Unit(), PerTick: 1, Workers: 1,
		Namespace: cfg.Namespace, MinWorker: cfg.MinWorker, MaxWorker: cfg.MaxWorker, Label: cfg.Label, PreferSame: cfg.PreferSame,
		Window: cfg.Window, TTL: cfg.TTL, MaxClockSkew: cfg.MaxClockSkew, SkipMigrate: cfg.SkipMigrate,
		OnLost: cfg.OnLost, Logger: cfg.Logger, Clock: cfg.Pool.Clock,
	}
	for _, f := range layout.Fields() {
		switch f.Kind {
		case idgen.KindWorker:
			c.Workers = 1 << f.Bits
		case idgen.KindSequence:
			c.PerTick = 1 << f.Bits
		}
	}
	return c
}
