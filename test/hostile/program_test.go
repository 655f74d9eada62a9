package hostile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// long reports whether we should spend more time on each setting.
func long() bool { return os.Getenv("SNOWKEY_HOSTILE") == "long" }

// recycled is how long connections live in these tests. When the pool closes a
// connection, anything that it hasn't committed is rolled back.
const recycled = 500 * time.Millisecond

// newStore returns a store for leases in the database of db.
func newStore(t testing.TB, dialect string, db *sql.DB) *sqlstore.Store {
	t.Helper()
	switch dialect {
	case "postgres":
		return sqlstore.Postgres(db)
	case "mysql":
		return sqlstore.MySQL(db)
	case "sqlite":
		return sqlstore.SQLite(db)
	}
	t.Fatalf("no lease store for %q", dialect)
	return nil
}

// A program is what the store considers a process. It has its own connections, its own
// pool of ids, and its own clock.
type program struct {
	name      string
	dialect   string
	namespace string // the namespace; empty for the default
	db        *sql.DB
	app       func(context.Context, *sql.DB) error // work of the application before Open, and occasionally afterwards; nil for none
	clock     time.Duration                        // how far ahead its clock is
	window    time.Duration                        // defaults to 2 s
	ttl       time.Duration                        // defaults to 3 s
	skew      time.Duration                        // MaxClockSkew; defaults to 200 ms

	mu     sync.Mutex // guards the following fields
	spans  []span
	opened time.Duration // time taken by the last Open
	err    error         // the result of the last Open
}

// config makes all programs of a test share one worker number.
func (p *program) config() snowkey.Config {
	cfg := snowkey.Config{
		Namespace: p.namespace,
		MinWorker: 1, MaxWorker: 1,
		Window: orElse(p.window, 2*time.Second), TTL: orElse(p.ttl, 3*time.Second), MaxClockSkew: orElse(p.skew, 200*time.Millisecond),
		Label:  p.name,
		Logger: slog.New(slog.DiscardHandler),
		// With the spread, we wouldn't notice that two programs use the same
		// milliseconds.
		NoSpread: true,
	}
	if os.Getenv("SNOWKEY_HOSTILE_LOG") != "" {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("program", p.name)
	}
	if p.clock != 0 {
		cfg.Clock = func() time.Time { return time.Now().Add(p.clock) }
	}
	return cfg
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// run opens a pool, issues ids for the given time starting with the first, and then
// closes the pool. Ids are recorded as they are issued. If ctx ends, run stops trying
// to open a pool.
func (p *program) run(ctx context.Context, t testing.TB, issue time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if p.app != nil {
		// Ignore errors, since some settings make the application's work fail.
		_ = p.app(ctx, p.db)
		wg.Go(func() {
			tick := time.NewTicker(1100 * time.Millisecond)
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
	pool, err := snowkey.Open(ctx, newStore(t, p.dialect, p.db), p.config())
	p.mu.Lock()
	p.opened, p.err = time.Since(began), err
	p.mu.Unlock()
	if err != nil {
		return
	}
	p.issue(ctx, pool, issue)
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	_ = pool.Close(closing) // if the lease can't be released, it expires
}

// issue draws about 250 ids per millisecond and records them.
func (p *program) issue(ctx context.Context, pool *idgen.Pool, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	ids := make([]int64, 0, 256)
	for ctx.Err() == nil {
		var err error
		ids, err = pool.Append(ctx, ids[:0], cap(ids))
		if err != nil {
			// This isn't necessarily because the time is over. The host's clock may be
			// out of range, for example, in which case the next call may succeed.
			sleep(ctx, 10*time.Millisecond)
			continue
		}
		p.mu.Lock()
		p.spans = extend(p.spans, p.name, ids)
		p.mu.Unlock()
		sleep(ctx, time.Millisecond)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// issued returns the number of ids that p has issued.
func (p *program) issued() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spans {
		n += s.count()
	}
	return n
}

// together judges the ids of all programs at once.
func together(programs ...*program) verdict {
	var all []span
	for _, p := range programs {
		p.mu.Lock()
		all = append(all, p.spans...)
		p.mu.Unlock()
	}
	return judge(all)
}

// check fails the test if any id was issued more than once. It also logs the number of
// ids.
func check(t testing.TB, programs ...*program) verdict {
	t.Helper()
	v := together(programs...)
	var each []string
	for _, p := range programs {
		each = append(each, fmt.Sprintf("%s %d", p.name, p.issued()))
	}
	if v.duplicates > 0 {
		t.Errorf("%d duplicates among %d ids (%s); %s", v.duplicates, v.ids, strings.Join(each, ", "), v.first)
	} else {
		t.Logf("0 duplicates among %d ids (%s)", v.ids, strings.Join(each, ", "))
	}
	return v
}

// inParallel runs a subtest for each case, but no more than n at a time. Unlike with
// t.Parallel, this doesn't depend on the number of processors, since these tests mostly
// wait.
func inParallel[C any](t *testing.T, n int, cases []C, name func(C) string, test func(*testing.T, C)) {
	t.Helper()
	slots := make(chan struct{}, n)
	var wg sync.WaitGroup
	for _, c := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.Run(name(c), func(t *testing.T) { test(t, c) })
		})
	}
	wg.Wait()
}

// wants skips the test unless the run covers the dialect.
func wants(t *testing.T, dialect string) {
	t.Helper()
	if slices.Contains(dbtest.Databases(t), dialect) {
		return
	}
	t.Skipf("SNOWKEY_TEST_DB=%s leaves %s out", os.Getenv("SNOWKEY_TEST_DB"), dialect)
}

// atOnce is the longest that Open may take to refuse a setting on a busy machine. It
// must not keep trying until its context ends, which would be after a minute.
const atOnce = 20 * time.Second

// isTimeout reports whether Open was still waiting when its context ended.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
