//go:build nightly

package redisstore

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

// A watched is a primary with a replica, and three Sentinels that watch them.
type watched struct {
	primary, replica *dbtest.Running
	link             *dbtest.Proxy // through which the replica follows
	sentinels        []string
}

// connect returns a client of the server that is the primary.
func (w *watched) connect(t *testing.T) *redis.Client {
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "primary", SentinelAddrs: w.sentinels, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

func startWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{primary: dbtest.Redis("--repl-diskless-sync-delay", "0").Start(t)}
	w.link = dbtest.ProxyTo(t, w.primary.Address)
	w.replica = dbtest.Redis("--replicaof", strings.Replace(w.link.Address(), ":", " ", 1)).Start(t)
	for range 3 {
		w.sentinels = append(w.sentinels, cluster.Sentinel(w.primary.Address).Start(t).Address)
	}
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		ready := 0
		for _, address := range w.sentinels {
			s := redis.NewSentinelClient(&redis.Options{Addr: address})
			primary, err := s.Master(t.Context(), "primary").Result()
			s.Close()
			if err == nil && primary["num-slaves"] == "1" && primary["num-other-sentinels"] == "2" && primary["flags"] == "master" {
				ready++
			}
		}
		info, _ := connect(t, w.replica.Address).Info(t.Context(), "replication").Result()
		if ready == len(w.sentinels) && strings.Contains(info, "master_link_status:up") {
			return w
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("%d Sentinels are ready; the replica has\n%s", ready, info)
		}
	}
}

func TestNightlyStoreWithSentinel(t *testing.T) {
	t.Parallel()
	client := startWatched(t).connect(t)
	leasetest.Run(t, func(t *testing.T) lease.Store {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return operated{redisstore.New(client), client}
	})
}

// An eager store hides that Redis may lose commits, so leases do not hold off.
type eager struct{ lease.Store }

func (s eager) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	p, err := s.Store.Probe(ctx, q)
	p.Volatile = false
	return p, err
}

func (s eager) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	c.Volatile = true
	return s.Store.Claim(ctx, c)
}

func (s eager) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	r.Volatile = true
	return s.Store.Renew(ctx, r)
}

// The replica lacks the lease of a process when Sentinel promotes it. The process has
// issued all ids up to its bound, and another one gets the same worker number. With the
// hold-off, it starts above that bound. Without it, ids repeat.
func TestNightlySentinelFailoverThatLosesALease(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"hold-off": false, "granted with the claim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWatched(t)
			layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(4), idgen.Sequence(4))
			if err != nil {
				t.Fatal(err)
			}
			cfg := snowkey.Config{
				Layout: layout, MinWorker: 1, MaxWorker: 1, MaxAhead: idgen.NoLimit, MaxWait: idgen.NoLimit, MaxBehind: idgen.NoLimit,
				Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			}
			seen, duplicates := map[int64]bool{}, 0
			// open returns a pool that has issued an id, which is after the hold-off.
			open := func() (*idgen.Pool, *redis.Client) {
				t.Helper()
				client := w.connect(t)
				var store lease.Store = redisstore.New(client)
				if broken {
					store = eager{store}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				pool, err := snowkey.Open(ctx, store, cfg)
				if err != nil {
					t.Fatal(err)
				}
				id, err := pool.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if seen[id] {
					duplicates++
				}
				seen[id] = true
				return pool, client
			}
			// draw draws all ids up to the bound that pool has. That takes milliseconds. Then
			// each renewal grants a few more.
			draw := func(pool *idgen.Pool) (n int) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
					ids, err := pool.NextN(ctx, 16)
					if err != nil {
						t.Fatal(err)
					}
					for _, id := range ids {
						if seen[id] {
							duplicates++
						}
						seen[id] = true
					}
					n += len(ids)
				}
				return n
			}

			// The row exists and is free, and the replica has it.
			first, client := open()
			draw(first)
			if err := first.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			pipe := client.Pipeline() // on one connection
			pipe.Set(t.Context(), "after", "the release", 0)
			replicas := pipe.Do(t.Context(), "WAIT", 1, 10_000)
			if _, err := pipe.Exec(t.Context()); err != nil || replicas.Val() != int64(1) {
				t.Fatal(replicas, err)
			}
			w.link.Cut()
			lost, client := open() // the replica knows nothing of this lease
			counts := []int{draw(lost)}
			client.Close() // so that it can't lease the number again
			killed := time.Now()
			if err := w.primary.Kill(); err != nil {
				t.Fatal(err)
			}
			again, client := open()
			t.Logf("open on the promoted replica %v after the kill", time.Since(killed).Round(time.Millisecond))
			if info, err := client.Info(t.Context(), "server").Result(); err != nil || !strings.Contains(info, "tcp_port:"+w.replica.Address[strings.Index(w.replica.Address, ":")+1:]) {
				t.Errorf("Sentinel has not promoted the replica: %v", err)
			}
			if counts = append(counts, draw(again)); slices.Contains(counts, 0) {
				t.Error("a process drew no ids")
			}
			t.Logf("%d ids before and after, %d duplicates", counts, duplicates)
			if broken != (duplicates > 0) {
				t.Errorf("%d duplicates", duplicates)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := again.Close(ctx); err != nil {
				t.Error(err)
			}
			lost.Close(ctx) // can't release its lease
		})
	}
}
