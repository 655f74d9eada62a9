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
	// Layout says which bits of an id hold what. Processes of a namespace have the
	// same, or layouts that can never make the same id (see
	// [idgen.Layout.Compatible]). Defaults to idgen.DefaultLayout().
	Layout idgen.Layout

	// Namespace is what ids are unique in: processes that fill the same tables
	// share one. At most 64 bytes. Defaults to "default".
	Namespace string

	// MinWorker and MaxWorker limit the worker numbers to lease, both included,
	// to keep data centres apart. MaxWorker 0 means the largest of the layout.
	MinWorker, MaxWorker int64

	// Label names this process to people, in errors and in the table. Defaults to
	// the host's name, $PORT if it is set, and the address of a network card, which
	// are the same after a restart.
	Label string

	// PreferSame prefers the worker number that a process of the same Label held
	// last, if it is free.
	PreferSame bool

	// Window is how long ids can be issued while the store is away; the lease is
	// renewed when two thirds of it are left. The same for all processes of a
	// namespace, as is MaxClockSkew. Defaults to 10 s.
	Window time.Duration

	// TTL is how long others wait before they take the worker number of a process
	// that ended without giving it back, and MaxClockSkew on top. Not less than
	// Window. Defaults to one and a half times Window.
	TTL time.Duration

	// MaxClockSkew is how far the host's clock may be from the store's, and the
	// clocks of servers that replace each other from one another. A new namespace
	// issues its first id this much later. Defaults to 1 s.
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

// Open leases a worker number from store and returns a pool of ids when the
// first can be issued. Until ctx ends it waits for a store that does not answer
// and while all worker numbers are taken; the error then says which. [idgen.Pool.Close] gives the worker
// number back.
//
// While the store is away ids go on for Window, and then calls wait for it as
// long as their context lasts. When the lease is lost, another is claimed, and
// calls wait for that. [idgen.Pool.Health] says which.
func Open(ctx context.Context, store lease.Store, cfg Config) (*idgen.Pool, error) {
	pool := cfg.Pool
	pool.Worker, pool.Layout, pool.Logger = nil, cfg.layout(), cfg.Logger
	return idgen.NewLeased(pool, func(issuer *idgen.Issuer) (idgen.Lessor, error) {
		return lease.Open(ctx, store, issuer, cfg.lease())
	})
}

// Fence has all ids of leases that are claimed from now on begin behind those
// that may have been issued before. Call it with the Config that Open has, after
// a restore that the database does not show; see [lease.Fence].
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	return lease.Fence(ctx, store, cfg.lease())
}

// Doctor looks for rows and settings that look wrong. Call it with the Config
// that Open has; see [lease.Doctor].
func Doctor(ctx context.Context, store lease.Store, cfg Config) ([]lease.Finding, error) {
	return lease.Doctor(ctx, store, cfg.lease())
}

func (cfg Config) layout() idgen.Layout {
	if cfg.Layout.IsZero() {
		return idgen.DefaultLayout()
	}
	return cfg.Layout
}

func (cfg Config) lease() lease.Config {
	layout := cfg.layout()
	c := lease.Config{
		Layout: layout.String(), Epoch: layout.Epoch(), Unit: layout.Unit(), PerTick: 1, Workers: 1,
		Namespace: cfg.Namespace, MinWorker: cfg.MinWorker, MaxWorker: cfg.MaxWorker, Label: cfg.Label, PreferSame: cfg.PreferSame,
		Window: cfg.Window, TTL: cfg.TTL, MaxClockSkew: cfg.MaxClockSkew, SkipMigrate: cfg.SkipMigrate,
		OnLost: cfg.OnLost, Logger: cfg.Logger, Clock: cfg.Pool.Clock,
		Compatible: func(stored string, from time.Time) error {
			other, err := idgen.ParseLayout(stored)
			if err != nil {
				return err
			}
			return layout.Compatible(other, from)
		},
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
