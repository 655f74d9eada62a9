package redisstore

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

// terms are used by tests of single calls.
var terms = lease.Terms{
	Namespace: "orders", Layout: "41/10/12", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4096, Workers: 1024, Ahead: 12_000_000, Skew: 2_000_000, TTL: 900_000_000,
}

// connect returns a client of a server, which is closed when t ends.
func connect(t testing.TB, address string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// operated is a store whose rows a test can edit.
type operated struct {
	*redisstore.Store
	client redis.UniversalClient
}

var _ leasetest.Operator = operated{}

func namespaceKey(terms lease.Terms) string {
	return "{snowkey:" + url.QueryEscape(terms.Namespace) + "}"
}
func rowsKey(terms lease.Terms) string { return namespaceKey(terms) + ":" + terms.Layout }

func (s operated) Delete(ctx context.Context, t lease.Terms, worker int64) error {
	return s.client.HDel(ctx, rowsKey(t), fmt.Sprint(worker)).Err()
}

func (s operated) Edit(ctx context.Context, t lease.Terms, r lease.Row) error {
	return s.client.HSet(ctx, rowsKey(t), fmt.Sprint(r.Worker),
		fmt.Sprintf("%d %s %d %d %d %s", protocol.Version, r.Token, r.Revision, r.Bound, r.Expires, r.Label)).Err()
}

func (s operated) DeleteNamespace(ctx context.Context, t lease.Terms) error {
	return s.client.HDel(ctx, namespaceKey(t), "layout "+t.Layout).Err()
}

func (s operated) SetFingerprint(ctx context.Context, t lease.Terms, fingerprint string) error {
	text, err := s.client.HGet(ctx, namespaceKey(t), "layout "+t.Layout).Result()
	if err != nil {
		return err
	}
	var version, position, fence int64
	if _, err := fmt.Sscan(text, &version, &position, &fence); err != nil {
		return err
	}
	return s.client.HSet(ctx, namespaceKey(t), "layout "+t.Layout,
		fmt.Sprintf("%d %d %d %s", version, position, fence, fingerprint)).Err()
}

func TestStore(t *testing.T) {
	t.Parallel()
	conforms(t, connect(t, dbtest.Redis().Start(t).Address))
	if dbtest.Nightly {
		t.Run("valkey", func(t *testing.T) { conforms(t, connect(t, dbtest.Valkey().Start(t).Address)) })
	}
}

func conforms(t *testing.T, client redis.UniversalClient) {
	leasetest.Run(t, func(t *testing.T) lease.Store {
		err := client.FlushAll(t.Context()).Err()
		if cluster, ok := client.(*redis.ClusterClient); ok {
			err = cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error { return c.FlushAll(ctx).Err() })
		}
		dbtest.NoError(t, err)
		return operated{redisstore.New(client), client}
	})
}
