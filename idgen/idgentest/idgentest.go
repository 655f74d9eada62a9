// Package idgentest has pools for tests. Their ids are the same on each run:
//
//	func TestOrders(t *testing.T) {
//		ids := idgentest.New(t)
//		db.Use(gormid.New(gormid.Config{Source: ids}))
//		...
//		ids.Advance(time.Hour) // the next ids are an hour later
//	}
//
// This lets tests compare keys with literals or golden files.
package idgentest

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// First is the first id from every [Pool], and the second is First+1. They're both above
// 2^53 and become equal when converted to float64. A test with two of these ids will
// therefore catch any code that rounds them (a JavaScript client, for instance).
const First = 132271570944004097

// Start is the time that the clock of every [Pool] shows at first.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// worker is the worker number in the ids.
const worker = 1

// A Pool is an [idgen.Pool] with [idgen.DefaultLayout], worker number 1, and a clock that
// only moves when the test says so. It never waits. The clock starts at the beginning of
// 2026 in UTC. The first id of each generator is [First], or the same id in a later tick.
//
// All pools issue the same ids, so don't use two of them to fill one table. They don't
// share any state, which makes them safe to use in parallel tests.
//
// A Pool is safe for concurrent use. Use [New] to get one; the zero Pool isn't valid.
type Pool struct {
	*idgen.Pool
	keeper keeper
}

// New returns a pool for t that's closed when t ends.
func New(t testing.TB) *Pool {
	t.Helper()
	p := new(Pool)
	var err error
	p.Pool, err = idgen.NewLeased(idgen.Config{Clock: p.Now, MaxAhead: idgen.NoLimit, NoSpread: true},
		func(issuer leased.Issuer) (leased.Keeper, error) {
			p.keeper.issuer = issuer
			return &p.keeper, p.keeper.Resume(context.Background())
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return p
}

// Now returns the clock's current time.
func (p *Pool) Now() time.Time { return start.Add(time.Duration(p.keeper.advanced.Load())) }

// Advance moves the clock. A negative d sets it back, but ids will still ascend. After
// going forward by a millisecond or more, the next id is in a different tick.
func (p *Pool) Advance(d time.Duration) {
	k := &p.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.advanced.Add(int64(d))
	if k.held {
		k.grant()
	}
}

// A keeper grants the worker number without a store. Unlike a pool of [idgen.NewPool],
// the pool does not reserve it within the process, so there can be many pools.
type keeper struct {
	issuer   leased.Issuer
	advanced atomic.Int64 // how many nanoseconds the clock has moved

	mu     sync.Mutex
	unused int64 // the first counter that was not used before the grant
	held   bool
}

// grant grants all counters that were not used. It leaves out the first one of the tick,
// because an id with sequence 0 is a multiple of 4,096, which float64 does not round. The
// caller must hold mu.
func (k *keeper) grant() {
	k.seal(nil)
	k.held = true
	tick := start.Sub(idgen.DefaultLayout().Epoch()) + time.Duration(k.advanced.Load())
	k.issuer.Grant(worker, max(k.unused, tick.Milliseconds()<<12+1), math.MaxInt64)
}

func (k *keeper) seal(reason error) {
	k.held, k.unused = false, max(k.unused, k.issuer.Seal(reason))
}

func (k *keeper) Resume(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.grant()
	return nil
}

func (k *keeper) Suspend(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seal(errors.New("idgentest: the pool is suspended; call Resume"))
	return nil
}

func (k *keeper) Close(ctx context.Context) error { return k.Suspend(ctx) }
func (*keeper) Want(int64)                        {}
func (*keeper) RenewSoon()                        {}
func (*keeper) Stats() leased.Stats               { return leased.Stats{} }
