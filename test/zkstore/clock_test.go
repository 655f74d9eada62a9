package zkstore

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// Open refuses a host whose clock is wrong, and leases nothing. If the clock of a running
// process jumps, it continues, and the next lease of its worker number starts above its ids.
func TestWrongHostClock(t *testing.T) {
	conn := connect(t, dbtest.ZooKeeper().Start(t).Address)
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(4), idgen.Sequence(4))
	if err != nil {
		t.Fatal(err)
	}
	var offset atomic.Int64
	cfg := snowkey.Config{
		Layout: layout, MinWorker: 1, MaxWorker: 1, Window: time.Second, MaxClockSkew: 200 * time.Millisecond, MaxWait: idgen.NoLimit, MaxBehind: idgen.NoLimit,
		Clock:  func() time.Time { return time.Now().Add(time.Duration(offset.Load())) },
		Logger: slog.New(slog.DiscardHandler),
	}
	store := zkstore.New(conn)
	open := func() (*idgen.Pool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return snowkey.Open(ctx, store, cfg)
	}
	seen := make(map[int64]bool)
	duplicates := 0
	draw := func(pool *idgen.Pool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for range 20_000 { // more than a bound can still hold
			id, err := pool.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				duplicates++
			}
			seen[id] = true
		}
	}
	for _, ahead := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		offset.Store(int64(ahead))
		pool, err := open()
		if skew, ok := errors.AsType[*lease.ClockSkewError](err); !ok || skew.Host.Sub(skew.Store).Round(time.Minute) != ahead {
			t.Errorf("with a clock %v ahead: %v, %v", ahead, pool, err)
		}
		offset.Store(0)
		if pool, err = open(); err != nil { // at once, because nothing is leased
			t.Fatal(err)
		}
		draw(pool)
		offset.Store(int64(ahead))
		draw(pool)
		offset.Store(0)
		draw(pool)
		if err := pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if duplicates > 0 {
		t.Errorf("%d duplicates of %d ids", duplicates, len(seen))
	}
}
