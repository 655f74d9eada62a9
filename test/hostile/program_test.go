package hostile

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// recycled is how long connections live in these tests. When the pool closes a
// connection, anything that it hasn't committed is rolled back.
const recycled = 300 * time.Millisecond

// A program is what the store considers a process. It has its own connections, its own
// pool of ids, and its own clock.
type program struct {
	name      string
	dialect   string
	namespace string // the namespace; empty for the default
	db        *sql.DB
	app       func(context.Context, *sql.DB) error // work of the application before Open, and occasionally afterwards; nil for none

	// What run has found.
	ids    []int64
	opened time.Duration // time taken by the last Open
	err    error         // the result of the last Open
	gap    time.Duration // the longest time without ids since the first one
}

// config makes all programs of a test share one worker number.
func (p *program) config() snowkey.Config {
	return snowkey.Config{
		Namespace: p.namespace,
		MinWorker: 1, MaxWorker: 1,
		Window: window, TTL: ttl, MaxClockSkew: 100 * time.Millisecond,
		Label:  p.name,
		Logger: slog.New(slog.DiscardHandler),
		// With the spread, we wouldn't notice that two programs use the same
		// milliseconds.
		NoSpread: true,
	}
}

// The shortest window that Open accepts, and how long a lease lasts. A window is renewed
// when a third of it has passed.
const window, ttl = time.Second, 1500 * time.Millisecond

// run opens a pool, issues ids until it has enough of them or ctx ends, and then closes
// the pool. Ids are recorded as they are issued.
func (p *program) run(ctx context.Context, enough func() bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if p.app != nil {
		// Ignore errors, since some settings make the application's work fail.
		_ = p.app(ctx, p.db)
		wg.Go(func() {
			tick := time.NewTicker(400 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_ = p.app(ctx, p.db)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	began := time.Now()
	pool, err := snowkey.Open(ctx, stores[p.dialect](p.db), p.config())
	if p.opened, p.err = time.Since(began), err; err != nil {
		return
	}
	p.issue(ctx, pool, enough)
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	_ = pool.Close(closing) // if the lease can't be released, it expires
}

// issue draws about 250 ids per millisecond and records them.
func (p *program) issue(ctx context.Context, pool *idgen.Pool, enough func() bool) {
	ids := make([]int64, 0, 256)
	var last time.Time
	for ctx.Err() == nil && !enough() {
		var err error
		ids, err = pool.Append(ctx, ids[:0], cap(ids))
		if err != nil {
			// The host's clock may be out of range, for example, in which case the next call
			// may succeed.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		p.ids = append(p.ids, ids...)
		if !last.IsZero() {
			p.gap = max(p.gap, time.Since(last))
		}
		last = time.Now()
		time.Sleep(time.Millisecond)
	}
}

// lasts is enough when the ids of a program cover this much time. If that is more than
// its first grant, some of the ids were granted by renewals.
func (p *program) lasts(d time.Duration) func() bool {
	return func() bool {
		n := len(p.ids)
		return n > 0 && (p.ids[n-1]-p.ids[0])>>22 >= d.Milliseconds() // the default layout has 22 bits below the time
	}
}

// stores returns a store for leases in a database.
var stores = map[string]func(*sql.DB) *sqlstore.Store{"postgres": sqlstore.Postgres, "mysql": sqlstore.MySQL}

// check fails the test if any id was issued more than once.
func check(t testing.TB, programs ...*program) {
	t.Helper()
	var all []int64
	for _, p := range programs {
		all = append(all, p.ids...)
	}
	if n, first := repeated(all); n > 0 {
		t.Errorf("%d of %d ids were issued more than once, such as %d", n, len(all), first)
	}
}

// repeated sorts numbers. It returns how many of them are equal to another one before them,
// and the first of these.
func repeated(numbers []int64) (n int, first int64) {
	slices.Sort(numbers)
	for i := 1; i < len(numbers); i++ {
		if numbers[i] == numbers[i-1] {
			n++
			first = cmp.Or(first, numbers[i])
		}
	}
	return n, first
}

// each runs a subtest for each case, all at the same time.
func each[C any](t *testing.T, cases []C, name func(C) string, test func(*testing.T, C)) {
	t.Helper()
	for _, c := range cases {
		t.Run(name(c), func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// atOnce is the longest that Open may take to refuse a setting on a busy machine. It
// must not keep trying until its context ends, which would be after a minute.
const atOnce = 20 * time.Second
