package sqlstore_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// A fleet consists of the processes of one namespace. They compete with each other
// because there's only one worker number.
type fleet struct {
	*testing.T
	db     dbtest.DB
	table  string
	broken func(*operated) lease.Store // removes the remedy from a store; nil to leave the store as is
	edit   func(request []byte)        // edits the requests; nil to leave them as they are
	steady bool                        // whether the server never crashes, so that it doesn't matter if it flushes commits
	window time.Duration               // defaults to 200 ms
	links  []*dbtest.Proxy             // one for each process, in the order in which they were started; none on SQLite

	mu     sync.Mutex
	grants []*grant
	last   time.Time     // when something was granted
	pause  time.Duration // the longest time from one grant to the next
}

// A grant is the range of counters that a process may issue under one lease.
type grant struct{ start, bound int64 }

// variant describes the kind of stores that it uses.
func (c *fleet) variant() string {
	if c.broken == nil {
		return "as it is"
	}
	return "without the remedy"
}

// terms returns the terms that all of its processes use.
func (c *fleet) terms() lease.Terms {
	skew, window := 100*time.Millisecond, cmp.Or(c.window, 200*time.Millisecond)
	return lease.Terms{
		Namespace: "ns", Layout: "41/0/12", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000, PerTick: 4096, Workers: 1,
		Ahead: (window + skew).Microseconds(), Skew: skew.Microseconds(), TTL: window.Microseconds(),
	}
}

// connect returns a store for another process.
func (c *fleet) connect() lease.Store {
	c.Helper()
	db, link := c.db.Through(c)
	c.links = append(c.links, link)
	if c.edit != nil {
		link.Edit(c.edit)
	}
	store := open(c.T, db, db.Connect(c), c.table)
	store.steady = c.steady
	if c.broken != nil {
		return c.broken(store)
	}
	return store
}

// begin keeps a lease for a process until ctx ends.
func (c *fleet) begin(ctx context.Context, store lease.Store) (leased.Keeper, error) {
	terms := c.terms()
	return keeper.Open(ctx, store, &greedy{fleet: c}, keeper.Config{
		Terms: terms, MaxWorker: terms.Workers - 1, MaxBlocked: time.Minute, Logger: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
}

// start starts a process, and waits until it has a lease.
func (c *fleet) start() { c.Helper(); c.started() }

func (c *fleet) started() leased.Keeper {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	keeper := dbtest.Must(c.begin(ctx, c.connect()))(c)
	c.Cleanup(func() { keeper.Close(context.Background()) })
	return keeper
}

// startAndClose starts a process, and closes it as soon as it has a lease. On a busy
// machine, the release may take too long. Then the lease expires.
func (c *fleet) startAndClose() {
	c.Helper()
	if err := c.started().Close(c.Context()); err != nil {
		c.Log(err)
	}
}

// join starts a process that has to compete with those already running.
func (c *fleet) join() {
	c.Helper()
	store := c.connect()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if keeper, err := c.begin(ctx, store); err == nil {
			<-ctx.Done()
			keeper.Close(context.Background())
		}
	}()
	c.Cleanup(func() { cancel(); <-done })
}

// takeOver is like goOn, but waits for a claim. A renewal may still be on its way from the
// previous server.
func (c *fleet) takeOver(db dbtest.DB) {
	c.Helper()
	leases := len(c.all())
	c.goOn(db)
	dbtest.Await(c, "a claim", func() bool { return len(c.all()) > leases })
}

// goOn connects all processes to db, starts another process, and waits until any of
// them gets a new grant.
func (c *fleet) goOn(db dbtest.DB) {
	c.Helper()
	before := c.issued()
	c.db = db
	for _, link := range c.links {
		link.Lead(db)
	}
	c.join()
	dbtest.Await(c, "a grant", func() bool { return c.issued() > before })
}

// renewals waits until the bound has been raised by a statement that was sent after the
// call. We have to wait for two renewals, because one may have been under way.
func (c *fleet) renewals() {
	c.Helper()
	for range 2 {
		bound := c.bound()
		dbtest.Await(c, "a renewal", func() bool { return c.bound() > bound })
	}
}

// all returns the grants so far.
func (c *fleet) all() (grants []grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.grants {
		grants = append(grants, *g)
	}
	return grants
}

// issued returns how many counters have been issued.
func (c *fleet) issued() (n int64) {
	for _, g := range c.all() {
		n += max(g.bound-g.start, 0)
	}
	return n
}

// bound returns the largest of all bounds.
func (c *fleet) bound() (bound int64) {
	for _, g := range c.all() {
		bound = max(bound, g.bound)
	}
	return bound
}

// duplicates returns the number of counters that were issued more than once.
func (c *fleet) duplicates() (n int64) {
	grants := slices.SortedFunc(slices.Values(c.all()), func(a, b grant) int { return cmp.Compare(a.start, b.start) })
	end := int64(0) // of the grants so far
	for _, g := range grants {
		n += max(min(g.bound, end)-g.start, 0)
		end = max(end, g.bound)
	}
	return n
}

// verdict fails the test if an unchanged store has duplicates, or if a broken store
// doesn't have any.
func (c *fleet) verdict(t *testing.T) {
	t.Helper()
	duplicates := c.duplicates()
	t.Logf("%d counters, %d duplicates", c.issued(), duplicates)
	if c.broken == nil && duplicates > 0 {
		t.Errorf("%d duplicate counters", duplicates)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil && duplicates == 0 && c.pause > cmp.Or(c.window, 200*time.Millisecond) {
		t.Skipf("on this busy machine, a grant came %v after another, when the counters of the lost one had passed", c.pause)
	}
	if c.broken != nil && duplicates == 0 {
		t.Error("no duplicates without the remedy, so this test proves nothing")
	}
}

// A greedy issuer issues all counters as soon as they're granted, just like a pool
// whose clock is ahead. This makes a duplicate out of any counter that is granted to
// two issuers, which means that tests don't have to find the moment when both would
// issue it.
type greedy struct {
	fleet *fleet
	grant *grant // nil if there is no lease
}

func (g *greedy) Grant(_, start, bound int64) {
	g.fleet.mu.Lock()
	defer g.fleet.mu.Unlock()
	g.grant = &grant{start, bound}
	g.fleet.grants = append(g.fleet.grants, g.grant)
	g.fleet.granted()
}

// granted notes the time. The caller holds the mutex.
func (c *fleet) granted() {
	if !c.last.IsZero() {
		c.pause = max(c.pause, time.Since(c.last))
	}
	c.last = time.Now()
}

func (g *greedy) Extend(bound int64) {
	g.fleet.mu.Lock()
	defer g.fleet.mu.Unlock()
	if g.grant != nil { // if its state is uncertain, a keeper reads its row again when it's closed
		g.grant.bound = max(g.grant.bound, bound)
		g.fleet.granted()
	}
}

func (g *greedy) Seal(error) (unused int64) {
	if g.grant == nil {
		return 0
	}
	unused = max(g.grant.start, g.grant.bound)
	g.grant = nil
	return unused
}

func (*greedy) Explain(error) {}

func (*greedy) Correct(time.Duration) {}
