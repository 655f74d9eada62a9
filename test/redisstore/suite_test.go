package redisstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

var terms = kvtest.Terms

// connect returns a client of a server, which is closed when t ends.
func connect(t testing.TB, address string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// operated returns a store whose rows a test can edit.
func operated(client redis.UniversalClient) lease.Store {
	return kvtest.Operator{Store: redisstore.New(client), Change: func(ctx context.Context, t lease.Terms, worker int64, change func(string) string) error {
		old, err := client.HGet(ctx, key(t), field(t, worker)).Result()
		if err == redis.Nil {
			return nil
		}
		if err != nil {
			return err
		}
		return client.HSet(ctx, key(t), field(t, worker), change(old)).Err()
	}}
}

func key(terms lease.Terms) string { return "snowkey:" + terms.Namespace }

func field(terms lease.Terms, worker int64) string {
	if worker == kvlease.OfNamespace {
		return "namespace"
	}
	return fmt.Sprint(terms.Layout, "/", worker)
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
		return operated(client)
	})
}
