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
	p, err := newPool(cfg)
	if err != nil {
		return nil, err
	}
	if p.keeper, err = open(issuer{p}); err != nil {
		return nil, err
	}
	return p, nil
}

// issuer implements [leased.Issuer] for a pool.
type issuer struct{ *Pool }

func (p issuer) Grant(worker, start, bound int64) {
	defer p.change(nil)()
	ahead := max(p.lead(start, p.main.clock.now()), 0)
	for _, g := range p.named.Range {
		g.(*Generator).begin(worker, start, min(bound, p.limit), ahead)
	}
}

func (p issuer) Extend(bound int64) {
	defer p.change(nil)()
	for _, g := range p.named.Range {
		if t := g.(*Generator).tenure.Load(); t.last.Load() >= 0 {
			t.bound.Store(max(t.bound.Load(), min(bound, p.limit)))
		}
	}
}

func (p issuer) Seal(reason error) (unused int64) {
	defer p.change(reason)()
	return p.seal()
}

func (p issuer) Explain(reason error) { p.change(reason)() }

func (p issuer) Correct(offset time.Duration) {
	_, reason := p.watch()
	defer p.change(reason)()
	for _, g := range p.named.Range {
		g.(*Generator).clock.correct(offset)
	}
}
