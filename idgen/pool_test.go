package idgen_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/leased"
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
