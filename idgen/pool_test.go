package idgen_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/internal/raced"
)

func TestNewPoolRefuses(t *testing.T) {
	broken := errors.New("no worker today")
	for _, tt := range []struct {
		name string
		cfg  idgen.Config
		want string
	}{
		{"down before waiting ends", idgen.Config{MaxWait: time.Hour, MaxBehind: time.Minute}, "Config.MaxBehind 1m0s is less than MaxWait 1h0m0s"},
		{"rotate without rollback", idgen.Config{Rotate: true}, "Config.Rotate needs a layout with a rollback field"},
		{"names", idgen.Config{MaxNames: -1}, "Config.MaxNames is -1; use 1 or more"},
		{"past the end", idgen.Config{Layout: preset("baidu")}, "outside the layout's lifetime (2016-05-19T16:00:00Z to 2024-11-20T13:24:16Z)"},
		// These don't concern a leased pool, which has no Config.Worker.
		{"no worker", idgen.Config{}, "Config.Worker is not set; use worker.Static"},
		{"worker too large", idgen.Config{Worker: worker.Static(1024)}, "worker 1024 does not fit its field (0 to 1023)"},
		{"worker negative", idgen.Config{Worker: worker.Static(-1)}, "worker -1 does not fit"},
		{"worker fails", idgen.Config{Worker: func(int) (int64, error) { return 0, broken }}, broken.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, err := idgen.NewPool(tt.cfg)
			if err == nil || pool != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
			if tt.name == "worker fails" && !errors.Is(err, broken) {
				t.Errorf("%v hides the worker's own error", err)
			}
			if tt.cfg.Worker == nil && tt.name != "no worker" {
				open := func(leased.Issuer) (leased.Keeper, error) { return nil, errors.New("a keeper was made") }
				if _, err := idgen.NewLeased(tt.cfg, open); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("a leased pool: %v; want %q", err, tt.want)
				}
			}
		})
	}
	open := func(leased.Issuer) (leased.Keeper, error) { return nil, broken }
	if _, err := idgen.NewLeased(idgen.Config{}, open); !errors.Is(err, broken) {
		t.Errorf("%v hides the keeper's own error", err)
	}
}

func TestWorkerGetsTheWidth(t *testing.T) {
	got := -1
	newPool(t, idgen.Config{Layout: preset("sonyflake"), Worker: func(bits int) (int64, error) { got = bits; return 65535, nil }})
	if got != 16 {
		t.Errorf("Worker got %d bits; want 16", got)
	}
}

func TestSecondPoolOnAWorkerIsRefused(t *testing.T) {
	cfg := idgen.Config{Worker: worker.Static(901)}
	first := newPool(t, cfg)
	_, err := idgen.NewPool(cfg)
	if !errors.Is(err, idgen.ErrWorkerInUse) || !strings.Contains(err.Error(), "901") {
		t.Errorf("a second pool: %v", err)
	}
	cfg.Layout = errtest.Must(idgen.DefaultLayout().WithEpoch(epoch.AddDate(1, 0, 0)))(t)
	newPool(t, cfg) // another layout makes other ids
	id := mustNext(t, first)
	errtest.NoError(t, first.Close(t.Context()))
	cfg.Layout = idgen.Layout{}
	second := newPool(t, cfg)
	if next := mustNext(t, second); next <= id {
		t.Errorf("the next pool of the worker begins with %d, after %d", next, id)
	}
}

func TestRaceOfFirstPools(t *testing.T) {
	var wg sync.WaitGroup
	var won, refused atomic.Int64
	for range 32 {
		wg.Go(func() {
			pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(902)})
			switch {
			case err == nil:
				won.Add(1)
				closeAtEnd(t, pool)
			case errors.Is(err, idgen.ErrWorkerInUse):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || refused.Load() != 31 {
		t.Errorf("%d pools, %d refused; want 1 and 31", won.Load(), refused.Load())
	}
}

func TestNilPool(t *testing.T) {
	var pool *idgen.Pool
	refused(t, idgen.ErrNoPool, pool)
	refused(t, idgen.ErrNoPool, pool.Named("orders"))
	errtest.NoError(t, pool.Close(t.Context()))
	if s := pool.Health().State; s != idgen.Closed || !pool.Layout().IsZero() {
		t.Errorf("health %v", s)
	}
}

func TestSuspendWithoutLease(t *testing.T) {
	for want, pool := range map[error]*idgen.Pool{idgen.ErrNoPool: nil, idgen.ErrNotLeased: newPool(t, idgen.Config{})} {
		suspended, resumed := pool.Suspend(t.Context()), pool.Resume(t.Context())
		if !errors.Is(suspended, want) || !errors.Is(resumed, want) {
			t.Errorf("%v and %v, want %v", suspended, resumed, want)
		}
	}
}

func TestDefault(t *testing.T) {
	before := idgen.Default()
	t.Cleanup(func() { idgen.SetDefault(before) })
	idgen.SetDefault(nil)
	refused(t, idgen.ErrNoPool, idgen.Default())
	pool := newPool(t, idgen.Config{})
	idgen.SetDefault(pool)
	if idgen.Default() != pool {
		t.Error("Default is not what SetDefault was given")
	}
}

func TestLogsToTheCurrentDefaultLogger(t *testing.T) {
	var log strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := errtest.Must(idgen.NewPool(idgen.Config{Clock: clock.Now, Worker: worker.Static(903)}))(t)
	closeAtEnd(t, pool)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	mustNext(t, pool)
	clock.step(-time.Hour)
	if _, err := pool.Next(t.Context()); err == nil {
		t.Fatal("no error an hour back")
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "worker=903") {
		t.Errorf("log %q", log.String())
	}
}

func TestPoolWorker(t *testing.T) {
	check := func(when string, pool *idgen.Pool, want int64, wantOK bool) {
		t.Helper()
		if n, ok := pool.Worker(); n != want || ok != wantOK {
			t.Errorf("%s: %d, %t; want %d, %t", when, n, ok, want, wantOK)
		}
	}
	check("no pool", nil, 0, false)
	zero := newPool(t, idgen.Config{Layout: preset("mastodon"), Worker: worker.Static(0)})
	check("worker 0", zero, 0, true)
	zero.Close(t.Context())
	check("closed", zero, 0, false)
	pool, k := leasedPool(t, idgen.Config{})
	check("before the first lease", pool, 0, false)
	k.Grant(3, 0, 1<<40)
	check("with a lease", pool, 3, true)
	k.Seal(errors.New("lost"))
	check("after the lease", pool, 0, false)
}

// Goroutines take ids of ten thousand names. Since the clock stands still, each name must
// get exactly the same ids as in a pool with a single name.
func TestTenThousandNames(t *testing.T) {
	const goroutines, rounds = 8, 2
	names := 10_000
	if raced.Enabled {
		names = 1000
	}
	pool := newPool(t, idgen.Config{Clock: holdClock(epoch.AddDate(1, 0, 0)).Now, NoSpread: true})
	codes := tenants(names)
	first := mustNext(t, pool.Named("somebody else"))
	const each = goroutines * rounds
	drawn := make([][each]atomic.Int32, names) // counts how often a call returned the n-th id of a name
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for j := range rounds * names {
				name := (3*j + i*names/goroutines) % names // let each goroutine start at another name
				id, err := pool.Named(codes[name]).Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if place := id - first; place < 0 || place >= each || drawn[name][place].Add(1) > 1 {
					t.Errorf("%s got id %d twice, or not one of its next %d from %d", codes[name], id, each, first)
					return
				}
			}
		})
	}
	wg.Wait()
}

func tenants(n int) []string {
	codes := make([]string, n)
	for i := range codes {
		codes[i] = fmt.Sprint("tenant-", i)
	}
	return codes
}

func TestNamesTakeLittleMemory(t *testing.T) {
	raced.Skip(t)
	const names = 10_000
	pool := newPool(t, idgen.Config{})
	codes := tenants(names)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for _, code := range codes {
		mustNext(t, pool.Named(code))
	}
	size := (heap() - before) / names
	runtime.KeepAlive(codes)
	t.Logf("a name takes %d bytes", size)
	if size > 700 {
		t.Error("more than twice of what is documented")
	}
}

func TestMaxNames(t *testing.T) {
	pool := newPool(t, idgen.Config{MaxNames: 100})
	text := strings.Repeat("x", 100)
	for i := range 100 {
		mustNext(t, pool.Named(text[:i+1]))
	}
	mustNext(t, pool)
	mustNext(t, pool.Named(text[:1])) // known names still work
	more := pool.Named("one more")
	refused(t, idgen.ErrTooManyNames, more)
	if _, err := more.Next(t.Context()); !strings.Contains(err.Error(), `"one more"`) || !strings.Contains(err.Error(), "100") {
		t.Errorf("the 101st name: %v", err)
	}
	if pool.Health().State != idgen.Serving {
		t.Error("a name too many makes the pool ill")
	}
	if more == pool.Named("yet another") {
		t.Error("two names share a generator")
	}
}

func TestNamed(t *testing.T) {
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: idgen.NoLimit})
	orders, users := pool.Named("orders"), pool.Named("users")
	if orders == users || orders != pool.Named("orders") {
		t.Fatal("a name is not one generator")
	}
	// Names are independent, so the ids of one shouldn't use up the ids of another.
	before := mustNext(t, users)
	errtest.Must(orders.NextN(t.Context(), 1_000_000))(t)
	if after := mustNext(t, users); after != before+1 {
		t.Errorf("users went from %d to %d while orders drew", before, after)
	}
	if h := orders.Health(); h.Behind < 200*time.Millisecond {
		t.Errorf("orders is behind by %v", h.Behind)
	}
	if pool.Health().Behind != orders.Health().Behind {
		t.Error("the pool does not report the generator that is worst off")
	}
}
