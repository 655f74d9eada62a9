// Package idgentest has pools for tests. Their ids are the same in every run:
//
//	func TestOrders(t *testing.T) {
//		ids := idgentest.New(t)
//		db.Use(gormid.New(gormid.Config{Source: ids}))
//		...
//		ids.Advance(time.Hour) // the next ids are an hour later
//	}
//
// A test can therefore compare keys with literals or golden files.
package idgentest

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// First is the first id of every [Pool], the second one is First+1. Both are above 2^53,
// and equal when they are converted to float64. So a test with two of these ids notices
// if some code, such as a JavaScript client, rounds them.
const First = 132271570944004097

// Start is the time that the clock of every [Pool] shows at first.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// worker is the worker number in the ids.
const worker = 1

// A Pool is an [idgen.Pool] with [idgen.DefaultLayout], the worker number 1, and a clock
// that only the test moves. It never waits. The clock first shows the beginning of 2026
// in UTC.
//
// All pools issue the same ids, so two pools must not fill the same table. Each pool
// shares nothing with others, so tests can run in parallel.
//
// A Pool is safe for concurrent use. Use [New] to get one, since the zero Pool is not
// valid.
type Pool struct {
	*idgen.Pool
	clock *clock

	mu    sync.Mutex
	named map[string]*idgen.Generator // those that were asked for
}

// New returns a pool for t, and closes it when t ends.
func New(t testing.TB) *Pool {
	t.Helper()
	c := &clock{now: start}
	layout := idgen.DefaultLayout()
	pool, err := idgen.NewLeased(idgen.Config{Layout: layout, Clock: c.read, MaxAhead: idgen.NoLimit, NoSpread: true},
		func(issuer leased.Issuer) (leased.Keeper, error) {
			k := &keeper{issuer: issuer}
			return k, k.Resume(context.Background())
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(context.Background()) })
	p := &Pool{Pool: pool, clock: c, named: make(map[string]*idgen.Generator)}
	p.Named("")
	return p
}

// Named is [idgen.Pool.Named]. The first id of each generator is [First], or the same id
// in a later tick.
func (p *Pool) Named(name string) *idgen.Generator {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.named[name]
	if g == nil {
		g = p.Pool.Named(name)
		p.named[name] = g
		skip(g)
	}
	return g
}

// skip leaves out an id. The sequence of a tick begins at 0, and an id with sequence 0
// is a multiple of 4,096, which float64 does not round.
func skip(g *idgen.Generator) { g.Next(context.Background()) }

// Now returns what the clock shows.
func (p *Pool) Now() time.Time { return p.clock.read() }

// Advance moves the clock. If d is negative, the clock goes back, but ids still ascend.
// If it goes forward by a millisecond or more, the next id is in another tick.
func (p *Pool) Advance(d time.Duration) {
	p.clock.advance(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.named {
		skip(g)
	}
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A keeper grants the worker number without a store. Unlike a pool of [idgen.NewPool],
// the pool does not reserve it within the process, so there can be many pools.
type keeper struct {
	issuer leased.Issuer

	mu     sync.Mutex
	unused int64 // the first counter that was not used
	held   bool
}

// Resume grants all counters that were not used.
func (k *keeper) Resume(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.held {
		k.held = true
		k.issuer.Grant(worker, k.unused, math.MaxInt64)
	}
	return nil
}

func (k *keeper) Suspend(context.Context) error { return k.seal(errSuspended) }

var errSuspended = errors.New("idgentest: the pool is suspended; call Resume")

func (k *keeper) Close(context.Context) error { return k.seal(idgen.ErrClosed) }

func (k *keeper) seal(reason error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held {
		k.held = false
		k.unused = k.issuer.Seal(reason)
	}
	return nil
}

func (*keeper) Want(int64) {}

func (*keeper) RenewSoon() {}

func (*keeper) Stats() leased.Stats { return leased.Stats{} }
