//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
)

// config is for pools that draw ids as far ahead of the clock as their bound allows. A tick
// has 16 ids, so that a test can draw all of them.
func config(t testing.TB, window time.Duration) snowkey.Config {
	layout := dbtest.Must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(4), idgen.Sequence(4)))(t)
	return snowkey.Config{
		Layout: layout, Window: window, MaxAhead: idgen.NoLimit, MaxWait: idgen.NoLimit, MaxBehind: idgen.NoLimit,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// drawn are all ids that a test has drawn.
type drawn struct {
	mu         sync.Mutex
	ids        map[int64]bool
	duplicates int
}

// draw draws up to n ids, until ctx ends, and returns how many it has drawn.
func (d *drawn) draw(ctx context.Context, pool *idgen.Pool, n int) (count int) {
	for count < n {
		ids, err := pool.NextN(ctx, min(64, n-count))
		if err != nil {
			return count
		}
		d.mu.Lock()
		if d.ids == nil {
			d.ids = make(map[int64]bool)
		}
		for _, id := range ids {
			if d.ids[id] {
				d.duplicates++
			}
			d.ids[id] = true
		}
		d.mu.Unlock()
		count += len(ids)
	}
	return count
}

// open opens a pool with a client and a store of its own, as another process would.
func (c *cluster) open(cfg snowkey.Config, options ...etcdstore.Option) (*idgen.Pool, *clientv3.Client) {
	c.Helper()
	client := c.connect(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pool := dbtest.Must(snowkey.Open(ctx, etcdstore.New(client, options...), cfg))(c)
	c.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		pool.Close(ctx)
	})
	return pool, client
}
