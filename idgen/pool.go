package idgen

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// A Pool is a process's claim on one worker number, and the generators that
// share it. Its own Next, NextN and Append draw from the generator named "".
//
// A Pool is safe for concurrent use. A nil *Pool is legal: it answers every
// call with [ErrNoPool].
type Pool struct {
	*core
	main  *Generator
	claim *claim

	named sync.Map // string → *Generator

	mu       sync.Mutex // guards isClosed and additions to named
	isClosed bool
}

// NewPool checks cfg, claims its worker number for this process and returns the
// pool. Errors are [*ConfigError], [*RangeError] for a worker number that does
// not fit its field, [*WorkerInUseError], [*TimeError] for a clock outside the
// layout's lifetime, or what cfg.Worker returned.
func NewPool(cfg Config) (*Pool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := cfg.Layout
	worker, err := cfg.Worker(int(l.worker.bits))
	if err != nil {
		return nil, err
	}
	if err := l.worker.check("worker", worker); err != nil {
		return nil, err
	}
	if _, err := l.Tick(cfg.now()); err != nil {
		return nil, err
	}
	c := newCore(cfg, worker)
	claim, err := claimWorker(l, worker)
	if err != nil {
		return nil, err
	}
	p := &Pool{core: c, claim: claim}
	p.main = p.Named("")
	if h := p.main.Health(); h.Expiring {
		c.log().Warn("idgen: the layout is nearly used up; plan for one with more time bits", "layout", l.String(), "ends", l.Lifetime().End)
	}
	return p, nil
}

func newCore(cfg Config, worker int64) *core {
	l := cfg.Layout
	c := &core{
		layout:      l,
		worker:      worker,
		shared:      l.fixed | l.worker.put(worker),
		unit:        l.unit,
		seqBits:     l.sequence.bits,
		counterBits: min(l.time.bits+l.sequence.bits, 63),
		seqMask:     int64(l.sequence.max()),
		timeShift:   l.time.shift, seqShift: l.sequence.shift, rollbackShift: l.rollback.shift,
		maxAhead:  cfg.MaxAhead,
		maxWait:   cfg.MaxWait,
		maxLead:   saturatingAdd(cfg.MaxAhead, cfg.MaxWait),
		maxBehind: cfg.MaxBehind,
		rotate:    cfg.Rotate,
		clock:     newClock(l.epoch, cfg.Clock),
		log:       func() *slog.Logger { return cfg.Logger },
		refuse:    ErrClosed,
		closed:    make(chan struct{}),
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
	c.bound = ticks<<c.seqBits - 1
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
	g := &Generator{core: p.core, name: name}
	g.last.Store(p.claim.last)
	if p.isClosed {
		g.last.Store(sealed)
	}
	p.named.Store(name, g)
	return g
}

// Layout returns the layout of the pool's ids; the zero Layout of a nil pool.
func (p *Pool) Layout() Layout { return p.generator().layout }

// Worker returns the pool's worker number; 0 of a nil pool.
func (p *Pool) Worker() int64 { return p.generator().worker }

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
func (p *Pool) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed {
		return nil
	}
	p.isClosed = true
	last := p.claim.last
	for _, g := range p.named.Range {
		last = max(last, g.(*Generator).last.Swap(sealed))
	}
	close(p.closed)
	p.claim.release(last)
	return ctx.Err()
}

// noPool is the generator of a nil pool.
var noPool = func() *Generator {
	g := &Generator{core: &core{refuse: ErrNoPool, clock: &clock{source: time.Now}, unit: 1, maxLead: NoLimit}}
	g.last.Store(sealed)
	return g
}()
