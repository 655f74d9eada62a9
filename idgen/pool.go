package idgen

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A Pool is a process's claim on one worker number, and the generators that
// share it. Its own Next, NextN and Append draw from the generator named "".
//
// A Pool is safe for concurrent use. A nil *Pool is legal: it answers every
// call with [ErrNoPool].
type Pool struct {
	*core
	main  *Generator
	claim *claim // nil if the pool is leased

	named    sync.Map // string → *Generator
	maxNames int

	mu       sync.Mutex // guards what follows, and additions to named
	names    int        // how many named has
	isClosed bool
	tenure   *tenure // nil while there is none
}

// NewPool checks cfg, claims its worker number for this process and returns the
// pool. Errors are [*ConfigError], [*RangeError] for a worker number that does
// not fit its field, [ErrWorkerInUse], [*TimeError] for a clock outside the
// layout's lifetime, or what cfg.Worker returned.
func NewPool(cfg Config) (*Pool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Worker == nil {
		return nil, &ConfigError{"Worker", "is not set; use worker.Static, Env, Ordinal or IPv4, or your own function"}
	}
	l := cfg.Layout
	worker, err := cfg.Worker(int(l.worker.bits))
	if err != nil {
		return nil, err
	}
	if err := l.worker.check(workerField, worker); err != nil {
		return nil, err
	}
	p := newPool(cfg)
	if p.claim, err = claimWorker(l, worker); err != nil {
		return nil, err
	}
	p.tenure = p.newTenure(worker, p.claim.unused, p.limit)
	// Of an earlier pool the counters are used up, but its time is not ours.
	p.tenure.maxAhead, p.tenure.maxLead = p.maxAhead, p.maxLead
	p.main.seq.Store(p.tenure.sequence())
	return p, nil
}

func newPool(cfg Config) *Pool {
	p := &Pool{core: newCore(cfg), maxNames: cfg.MaxNames + 1} // and that of the pool itself
	p.main = p.Named("")
	if left := p.end - p.clock.now(); left < warnBefore {
		p.log().Warn("idgen: the layout is nearly used up; plan for one with more time bits", "layout", p.layout.String(), "ends", p.layout.Lifetime().End)
	}
	return p
}

func newCore(cfg Config) *core {
	l := cfg.Layout
	c := &core{
		layout:        l,
		unit:          l.unit,
		maxAhead:      cfg.MaxAhead,
		maxWait:       cfg.MaxWait,
		maxLead:       saturatingAdd(cfg.MaxAhead, cfg.MaxWait),
		maxBehind:     cfg.MaxBehind,
		rotate:        cfg.Rotate,
		seqBits:       l.sequence.bits,
		seqMask:       int64(l.sequence.max()),
		counterBits:   min(l.time.bits+l.sequence.bits, 63),
		timeShift:     l.time.shift,
		seqShift:      l.sequence.shift,
		rollbackShift: l.rollback.shift,
		clock:         newClock(l.epoch, cfg.Clock),
		log:           func() *slog.Logger { return cfg.Logger },
		tenures:       tenures{refuse: ErrClosed, closed: make(chan struct{}), changed: make(chan struct{})},
	}
	c.counterMask = 1<<c.counterBits - 1
	if cfg.Logger == nil {
		c.log = slog.Default
	}
	if !cfg.NoSpread {
		c.spread = newSpread(c.seqBits, rand.Uint64())
	}
	// A tick past the range of time.Duration, 292 years, is the end as well.
	ticks := min(l.maxTick(), int64(NoLimit/l.unit)-1) + 1
	c.limit = ticks<<c.seqBits - 1
	c.end = time.Duration(ticks) * l.unit
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

// Unordered returns that of the pool's own generator. See [Generator.Unordered].
func (p *Pool) Unordered() *Unordered { return p.generator().Unordered() }

func (p *Pool) generator() *Generator {
	if p == nil {
		return noPool
	}
	return p.main
}

// Named returns the generator of that name, the same one for every call.
// Generators of different names are independent sequences under the one worker:
// each is unique in itself, and two may make the same id. Use one per table, or
// the pool's own for all.
//
// There can be many, one for each customer or kind of document: to find one takes
// no lock, about 30 ns among ten thousand, and no goroutine that draws from one
// meets those of another. A name takes about 350 bytes, or 1,200 with an
// [Unordered], and lives as long as the pool; beyond [Config.MaxNames] a call gets
// a generator that answers with [ErrTooManyNames].
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
	name = strings.Clone(name) // which may be a piece of a long text
	if p.names == p.maxNames {
		return refusing(fmt.Errorf("%w (name %q, MaxNames %d)", ErrTooManyNames, name, p.maxNames-1))
	}
	g := &Generator{core: p.core, name: name}
	if p.tenure != nil {
		g.seq.Store(p.tenure.sequence())
	} else {
		g.seq.Store(ended())
	}
	p.named.Store(name, g)
	p.names++
	return g
}

// Layout returns the layout of the pool's ids; the zero Layout of a nil pool.
func (p *Pool) Layout() Layout { return p.generator().layout }

// Worker returns the pool's worker number. It reports false if there is none: the
// pool is nil or closed, or it has no lease. A leased pool has another worker number
// after it has lost a lease.
func (p *Pool) Worker() (worker int64, ok bool) {
	s := p.generator().seq.Load()
	if s.last.Load() < 0 {
		return 0, false
	}
	return s.worker, true
}

// Health reports the state of the generator that is worst off.
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

// Close seals all generators, ends their waits with [ErrClosed] and gives the
// worker number back. No id is issued afterwards. A second call does nothing.
// An error says that a lease could not be given back; it then expires by itself.
func (p *Pool) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	if p.isClosed {
		p.mu.Unlock()
		return nil
	}
	p.isClosed = true
	if p.claim != nil {
		p.claim.release(p.seal())
	}
	p.mu.Unlock()
	var err error
	if p.keeper != nil {
		err = p.keeper.Close(ctx) // which seals
	}
	close(p.closed)
	return err
}

// Suspend gives the worker number of a leased pool back until Resume. No id is
// issued once it returns: calls wait, and if their context ends first say that the
// pool is suspended. The process can then be copied, by a checkpoint, a snapshot or a clone
// of its machine: each copy that resumes has a worker number of its own.
//
// An error says that the lease could not be given back; it then expires by
// itself, and copies are safe all the same. A pool whose worker number is not
// leased fails with [ErrNotLeased].
func (p *Pool) Suspend(ctx context.Context) error {
	k, err := p.leaseKeeper()
	if err != nil {
		return err
	}
	return k.Suspend(ctx)
}

// Resume leases a worker number for a pool that was suspended. It returns when
// the first id can be issued, or with an error when ctx has ended: the pool then
// is suspended as before.
func (p *Pool) Resume(ctx context.Context) error {
	k, err := p.leaseKeeper()
	if err != nil {
		return err
	}
	return k.Resume(ctx)
}

func (p *Pool) leaseKeeper() (leased.Keeper, error) {
	if p == nil {
		return nil, ErrNoPool
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed {
		return nil, ErrClosed
	}
	if p.keeper == nil {
		return nil, ErrNotLeased
	}
	return p.keeper, nil
}

// seal ends the tenure and returns the first number that was not used under it.
func (p *Pool) seal() (unused int64) {
	if p.tenure == nil {
		return 0
	}
	unused, p.tenure = p.tenure.start, nil
	for _, g := range p.named.Range {
		if last := g.(*Generator).seal(); last >= 0 {
			unused = max(unused, last+1)
		}
	}
	return unused
}

// noPool is the generator of a nil pool.
var noPool = refusing(ErrNoPool)

// refusing returns a generator that answers every call with err.
func refusing(err error) *Generator {
	g := &Generator{core: &core{
		unit: 1, maxLead: NoLimit, clock: &clock{source: time.Now},
		tenures: tenures{refuse: err, closed: make(chan struct{})},
	}}
	close(g.closed)
	g.seq.Store(ended())
	return g
}

// ended returns a sequence without a tenure.
func ended() *sequence {
	s := &sequence{tenure: &tenure{}}
	s.last.Store(sealed)
	return s
}
