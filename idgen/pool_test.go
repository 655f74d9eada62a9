package idgen_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

func TestNewPoolRefuses(t *testing.T) {
	broken := errors.New("no worker today")
	for _, tt := range []struct {
		name string
		cfg  idgen.Config
		want string
	}{
		{"no worker", idgen.Config{}, "Config.Worker is not set; use worker.Static"},
		{"worker too large", idgen.Config{Worker: worker.Static(1024)}, "worker 1024 does not fit its field (0 to 1023)"},
		{"worker negative", idgen.Config{Worker: worker.Static(-1)}, "worker -1 does not fit"},
		{"worker fails", idgen.Config{Worker: func(int) (int64, error) { return 0, broken }}, "no worker today"},
		{"down before waiting ends", idgen.Config{Worker: worker.Static(1), MaxWait: time.Hour, MaxBehind: time.Minute}, "Config.MaxBehind 1m0s is less than MaxWait 1h0m0s"},
		{"rotate without rollback", idgen.Config{Worker: worker.Static(1), Rotate: true}, "Config.Rotate needs a layout with a rollback field"},
		{"past the end", idgen.Config{Worker: worker.Static(1), Layout: idgen.Baidu()}, "outside the layout's lifetime (2016-05-19T16:00:00Z to 2024-11-20T13:24:16Z)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, err := idgen.NewPool(tt.cfg)
			if err == nil || pool != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
			}
		})
	}
	_, err := idgen.NewPool(idgen.Config{Worker: func(int) (int64, error) { return 0, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("%v hides the worker's own error", err)
	}
}

func TestWorkerGetsTheWidth(t *testing.T) {
	got := -1
	newPool(t, idgen.Config{Layout: idgen.Sonyflake(), Worker: func(bits int) (int64, error) { got = bits; return 65535, nil }})
	if got != 16 {
		t.Errorf("Worker got %d bits; want 16", got)
	}
}

func TestSecondPoolOnAWorkerIsRefused(t *testing.T) {
	cfg := idgen.Config{Worker: worker.Static(901)}
	first, err := idgen.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = idgen.NewPool(cfg)
	if !errors.Is(err, idgen.ErrWorkerInUse) || !strings.Contains(err.Error(), "901") {
		t.Errorf("a second pool: %v", err)
	}
	cfg.Layout = must(idgen.DefaultLayout().WithEpoch(epoch.AddDate(1, 0, 0)))(t)
	newPool(t, cfg) // another layout makes other ids
	id := mustNext(t, first)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg.Layout = idgen.Layout{}
	second := newPool(t, cfg)
	if next := mustNext(t, second); next <= id {
		t.Errorf("the next pool of the worker begins with %d, after %d", next, id)
	}
}

func TestRaceOfFirstPools(t *testing.T) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, refused := 0, 0
	for range 32 {
		wg.Go(func() {
			pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(902)})
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, idgen.ErrWorkerInUse) {
				refused++
			} else if err == nil {
				won++
				t.Cleanup(func() { pool.Close(context.Background()) })
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 || refused != 31 {
		t.Errorf("%d pools, %d refused; want 1 and 31", won, refused)
	}
}

func TestNilPool(t *testing.T) {
	var pool *idgen.Pool
	ctx := t.Context()
	_, err1 := pool.Next(ctx)
	_, err2 := pool.NextN(ctx, 2)
	_, err3 := pool.Append(ctx, nil, 2)
	_, err4 := pool.Named("orders").Next(ctx)
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, idgen.ErrNoPool) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := pool.Close(ctx); err != nil {
		t.Error(err)
	}
	if s := pool.Health().State; s != idgen.Closed || !pool.Layout().IsZero() {
		t.Errorf("health %v", s)
	}
}

func TestLogsToTheCurrentDefaultLogger(t *testing.T) {
	var log strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool, err := idgen.NewPool(idgen.Config{Clock: clock.Now, Worker: worker.Static(903)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(context.Background()) })
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
	zero := newPool(t, idgen.Config{Layout: idgen.Mastodon(), Worker: worker.Static(0)})
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

// Without Config.Clock, ids should have the system's time. A reading of the clock may be
// some milliseconds old, and older if the machine is busy.
func TestSystemClock(t *testing.T) {
	pool := newPool(t, idgen.Config{})
	for range 3 {
		before := time.Now().Add(-time.Minute)
		at := pool.Layout().Decode(mustNext(t, pool)).Time
		if after := time.Now().Add(time.Minute); at.Before(before) || at.After(after) {
			t.Errorf("an id of %v was made between %v and %v", at, before, after)
		}
		time.Sleep(60 * time.Millisecond)
	}
}
