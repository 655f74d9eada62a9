package idgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A Pool has one worker number, and the generators using it. The Next, NextN and Append
// methods of the pool itself call the generator named "".
//
// A Pool is safe for concurrent use. On a nil *Pool, methods returning ids fail with
// [ErrNoPool].
type Pool struct {
	main Generator // the one with the name ""
	*core
	claim *claim // nil if the pool is leased

	named sync.Map // string → *Generator; mu guards additions

	closing atomic.Bool // since the first call of Close

	// Guarded by mu.
	names  int   // the length of named
	issued int64 // the largest Stats.Issued returned so far
}

// A Source hands out ids. [*Pool], [*Generator] and *segment.Segment are Sources, and all
// integrations (ent, GORM, …) accept one.
//
// A Source is safe for concurrent use, and its ids are positive. Each id is unique among
// ids with the same worker number and layout or, for a segment, the same name. If one
// call ends before another begins, the second call gets the greater id.
type Source interface {
	// Next returns one id. If it has to wait, it gives up when ctx ends.
	Next(ctx context.Context) (int64, error)

	// Append reserves n ids in one step, appends them to dst in ascending order and
	// returns the extended slice. On error, dst is unchanged.
	Append(ctx context.Context, dst []int64, n int) ([]int64, error)
}

var defaultPool atomic.Pointer[Pool]

// Default returns the process's pool, which the integrations use unless given a source of
// their own. It returns nil until [SetDefault] is called. Requesting ids from a nil pool
// fails with [ErrNoPool].
func Default() *Pool { return defaultPool.Load() }

// SetDefault makes p the process's pool. Call it in main, before creating any rows.
// SetDefault(nil) removes the pool.
func SetDefault(p *Pool) { defaultPool.Store(p) }

// NewPool checks cfg, gets a worker number from cfg.Worker, reserves it within this
// process, and returns the pool. The error names the invalid field of cfg, or it's
// [ErrWorkerInUse] or the error from cfg.Worker.
func NewPool(cfg Config) (*Pool, error) {
	p, err := newPool(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Worker == nil {
		return nil, errors.New("idgen: Config.Worker is not set; use worker.Static, Env, Ordinal or IPv4, or your own function")
	}
	field := p.cfg.Layout.worker
	worker, err := cfg.Worker(int(field.bits))
	if err != nil {
		return nil, err
	}
	if err := field.check(workerField, worker); err != nil {
		return nil, err
	}
	if p.claim, err = claimWorker(p.cfg.Layout, worker); err != nil {
		return nil, err
	}
	// If an earlier pool of this process had the same worker number, its counters, above
	// which this pool starts, may be ahead of the clock. That doesn't raise the limits.
	p.main.begin(worker, p.claim.unused, p.limit, 0)
	return p, nil
}

// A claim is locked while a pool in this process is using a worker number of a layout.
type claim struct {
	sync.Mutex
	unused int64 // the first number that no earlier pool has used; the next pool starts here
}

// claims has a *claim for each worker number and layout that a pool has used.
var claims sync.Map

func claimWorker(l Layout, worker int64) (*claim, error) {
	known, _ := claims.LoadOrStore(fmt.Sprint(worker, l), new(claim))
	c := known.(*claim)
	if !c.TryLock() {
		return nil, fmt.Errorf("%w (worker number %d)", ErrWorkerInUse, worker)
	}
	return c, nil
}

func newPool(cfg Config) (*Pool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Pool{core: newCore(cfg)}
	p.main.tenure.Store(ended)
	p.add(&p.main, "")
	if left := p.end - max(p.main.clock.now(), 0); left < warnBefore {
		p.log().Warn("idgen: the layout is nearly used up; plan for one with more time bits", "layout", cfg.Layout.String(), "ends", cfg.Layout.Lifetime().End)
	}
	return p, nil
}

func newCore(cfg Config) *core {
	l := cfg.Layout
	ticks := l.maxTick() + 1
	c := &core{
		spans:       l.spans,
		counterBits: min(l.time.bits+l.sequence.bits, 63),
		end:         time.Duration(ticks) * l.unit,
		unit:        l.unit,
		limit:       ticks<<l.sequence.bits - 1,
		cfg:         cfg,
		maxLead:     saturatingAdd(cfg.MaxAhead, cfg.MaxWait),
		changed:     make(chan struct{}),
	}
	c.life, c.stop = context.WithCancelCause(context.Background())
	c.setUnit(l.unit)
	if !cfg.NoSpread {
		c.spread = newSpread(l.sequence.bits, rand.Uint64())
	}
	return c
}

// Next returns one id. See [Generator.Next].
func (p *Pool) Next(ctx context.Context) (int64, error) { return p.generator().Next(ctx) }

// NextN returns n new ids in ascending order. See [Generator.Append].
func (p *Pool) NextN(ctx context.Context, n int) ([]int64, error) {
	return p.generator().NextN(ctx, n)
}

// Append appends n new ids to dst in ascending order. See [Generator.Append].
func (p *Pool) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	return p.generator().Append(ctx, dst, n)
}

func (p *Pool) generator() *Generator {
	if p == nil {
		return noPool
	}
	return &p.main
}

// Named returns the generator with this name. You'll get the same one each time. Ids from
// one generator are unique, but two generators share the worker number and may produce
// the same id, so use either one generator per table or the pool itself for all tables.
//
// Having lots of names is fine, e.g. one for each customer. Finding a generator takes no
// lock, and about 30 ns with ten thousand names. Different generators write to different
// cache lines. Each name takes about 350 bytes of memory until the pool is freed. Past
// [Config.MaxNames], generators for additional names fail with [ErrTooManyNames].
func (p *Pool) Named(name string) *Generator {
	if p == nil {
		return noPool
	}
	if g, ok := p.named.Load(name); ok {
		return g.(*Generator)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if g, ok := p.named.Load(name); ok {
		return g.(*Generator)
	}
	name = strings.Clone(name)    // it may be part of a longer string, which the map would keep in memory
	if p.names > p.cfg.MaxNames { // one of them is ""
		return refusing(fmt.Errorf("%w (name %q, MaxNames %d)", ErrTooManyNames, name, p.cfg.MaxNames))
	}
	g := new(Generator)
	p.add(g, name)
	return g
}

// add gives g this name, and the tenure that the other generators have. The caller must
// hold mu, unless nobody else can reach the pool yet.
func (p *Pool) add(g *Generator, name string) {
	t := p.main.tenure.Load()
	g.core, g.name = p.core, name
	g.clock.init(p.cfg.Layout.epoch, p.cfg.Clock, time.Duration(p.main.clock.correction.Load()))
	g.tenure.Store(ended)
	if t.last.Load() >= 0 {
		g.begin(t.worker, t.start, t.bound.Load(), t.ahead)
	}
	p.named.Store(name, g)
	p.names++
}

// Layout returns the layout of the pool's ids, or the zero Layout if the pool is nil.
func (p *Pool) Layout() Layout { return p.generator().cfg.Layout }

// Worker returns the pool's worker number. It reports false if there isn't one, because
// the pool is nil, closed, or currently without a lease. A leased pool may end up with a
// different worker number after losing a lease.
func (p *Pool) Worker() (worker int64, ok bool) {
	t := p.generator().tenure.Load()
	if t.last.Load() < 0 {
		return 0, false
	}
	return t.worker, true
}

// Health returns the health of whichever generator is in the worst state.
func (p *Pool) Health() Health {
	worst := p.generator().Health()
	if p == nil {
		return worst
	}
	for _, g := range p.named.Range {
		if h := g.(*Generator).Health(); h.State > worst.State || h.State == worst.State && h.Behind > worst.Behind {
			worst = h
		}
	}
	return worst
}

// Close stops all generators and releases the worker number. Waiting calls fail with
// [ErrClosed], and no ids are issued after Close returns. It returns an error if it
// couldn't release the lease, which will then expire after its TTL. Calling Close again
// does nothing.
func (p *Pool) Close(ctx context.Context) error {
	if p == nil || p.closing.Swap(true) {
		return nil
	}
	var err error
	if p.keeper != nil {
		err = p.keeper.Close(ctx) // also seals the generators
	} else {
		p.mu.Lock()
		p.claim.unused = p.seal()
		p.mu.Unlock()
		p.claim.Unlock()
	}
	p.stop(ErrClosed)
	return err
}

// Suspend releases the worker number of a leased pool. Once it has returned, no ids are
// issued until [Pool.Resume] has leased a worker number again. Until then, calls for ids
// wait. They return an error saying that the pool is suspended if their context ends
// first.
//
// Call Suspend before checkpointing the process, or before taking a snapshot or clone of
// its machine. Each copy then gets a worker number of its own by calling Resume.
//
// If the lease couldn't be released, Suspend returns an error. It's still safe to copy
// the process, and the lease will expire after its TTL. The error is [ErrNotLeased] if
// the pool's worker number isn't leased to begin with.
func (p *Pool) Suspend(ctx context.Context) error { return p.keep(ctx, leased.Keeper.Suspend) }

// Resume leases a worker number for a suspended pool and returns once it's ready to issue
// ids. If ctx ends first, Resume returns an error and the pool stays suspended.
func (p *Pool) Resume(ctx context.Context) error { return p.keep(ctx, leased.Keeper.Resume) }

// keep calls a method of the pool's keeper.
func (p *Pool) keep(ctx context.Context, call func(leased.Keeper, context.Context) error) error {
	switch {
	case p == nil:
		return ErrNoPool
	case p.closing.Load():
		return ErrClosed
	case p.keeper == nil:
		return ErrNotLeased
	}
	return call(p.keeper, ctx)
}

// seal ends the tenures and returns the first number that was not used under them, or 0
// if there are none. The caller must hold mu.
func (p *Pool) seal() (unused int64) {
	for _, named := range p.named.Range {
		g := named.(*Generator)
		t := g.tenure.Load()
		if last := t.last.Swap(sealed); last >= 0 {
			g.skipped.Add(-last)
			unused = max(unused, t.start, last+1)
		}
	}
	return unused
}

// noPool is the generator of a nil pool.
var noPool = refusing(ErrNoPool)

// refusing returns a generator whose calls fail with err.
func refusing(err error) *Generator {
	life, stop := context.WithCancelCause(context.Background())
	stop(err)
	g := &Generator{clock: clock{source: time.Now}, core: &core{maxLead: NoLimit, life: life}}
	g.tenure.Store(ended)
	return g
}
