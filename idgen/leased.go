package idgen

import (
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// NewLeased makes a pool that gets its worker number from a keeper. It's for package
// snowkey, which is why its parameters have internal types. It calls open with the pool's
// issuer, and open returns the keeper. Worker and Rotate must not be set in cfg. Rotate
// would be unsafe here, because an earlier holder of the worker number might already have
// used the rollback numbers.
func NewLeased(cfg Config, open func(leased.Issuer) (leased.Keeper, error)) (*Pool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := newPool(cfg)
	var err error
	if p.keeper, err = open(issuer{p}); err != nil {
		return nil, err
	}
	return p, nil
}

// issuer implements [leased.Issuer] for a pool.
type issuer struct{ pool *Pool }

func (i issuer) Grant(worker, start, bound int64) {
	p := i.pool
	p.mu.Lock()
	p.tenure, p.bound = p.newTenure(worker, start), min(bound, p.limit)
	for _, g := range p.named.Range {
		g.(*Generator).begin(p.tenure, p.bound)
	}
	p.mu.Unlock()
	p.announce(nil)
}

func (i issuer) Extend(bound int64) {
	p := i.pool
	p.mu.Lock()
	if p.tenure != nil {
		p.bound = max(p.bound, min(bound, p.limit))
		for _, g := range p.named.Range {
			g.(*Generator).seq.Load().bound.Store(p.bound)
		}
	}
	p.mu.Unlock()
	p.announce(nil)
}

func (i issuer) Seal(reason error) (unused int64) {
	p := i.pool
	p.mu.Lock()
	unused = p.seal()
	p.mu.Unlock()
	p.announce(reason)
	return unused
}

func (i issuer) Explain(reason error) { i.pool.announce(reason) }

func (i issuer) Correct(offset time.Duration) {
	p := i.pool
	p.mu.Lock()
	p.correction = offset
	for _, g := range p.named.Range {
		g.(*Generator).clock.correct(offset)
	}
	p.mu.Unlock()
	_, reason := p.watch()
	p.announce(reason)
}
