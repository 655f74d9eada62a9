package snowkey_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// layout returns a layout with an epoch before the year 2000, since that is where the
// clock of a synctest bubble starts.
func layout(t testing.TB) idgen.Layout {
	t.Helper()
	return errtest.Must(idgen.NewLayout(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(4), idgen.Sequence(12)))(t)
}

// terms returns the terms of pools that use layout.
func terms(t testing.TB) lease.Terms {
	return lease.Terms{Namespace: "default", Layout: layout(t).String()}
}

func open(t testing.TB, store lease.Store, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	return openLayout(t, store, layout(t), cfg)
}

func openLayout(t testing.TB, store lease.Store, layout idgen.Layout, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	cfg.Layout = layout
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool := errtest.Must(snowkey.Open(ctx, store, cfg))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// next takes an id, but waits no longer than a second.
func next(t testing.TB, pool *idgen.Pool) (int64, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return pool.Next(ctx)
}

func mustNext(t testing.TB, pool *idgen.Pool) int64 {
	t.Helper()
	return errtest.Must(next(t, pool))(t)
}

// workerOf returns the worker number of a pool that has one.
func workerOf(t testing.TB, pool *idgen.Pool) int64 {
	t.Helper()
	worker, ok := pool.Worker()
	if !ok {
		t.Error("the pool has no worker number")
	}
	return worker
}
