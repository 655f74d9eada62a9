//go:build nightly

package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

// Three primaries share the slots, so namespaces are on different servers.
func TestNightlyStoreOnACluster(t *testing.T) {
	t.Parallel()
	var addresses []string
	for range 3 {
		addresses = append(addresses, dbtest.Redis("--cluster-enabled", "yes", "--cluster-node-timeout", "2000").Start(t).Address)
	}
	for i, address := range addresses { // a node that knows another one refuses an epoch
		node := connect(t, address)
		dbtest.NoError(t, node.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", i*5461, []int{5460, 10921, 16383}[i]).Err())
		dbtest.NoError(t, node.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
	}
	for _, other := range addresses[1:] {
		host, port, _ := strings.Cut(other, ":")
		dbtest.NoError(t, connect(t, addresses[0]).ClusterMeet(t.Context(), host, port).Err())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
	t.Cleanup(func() { client.Close() })
	dbtest.Await(t, "the cluster", func() bool {
		return !slices.ContainsFunc(addresses, func(address string) bool {
			info, _ := connect(t, address).ClusterInfo(t.Context()).Result()
			return !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3")
		})
	})

	owners := map[string]bool{}
	for i := range 32 {
		node := dbtest.Must(client.MasterForKey(t.Context(), fmt.Sprintf("snowkey:ns%d", i)))(t)
		owners[node.Options().Addr] = true
	}
	if len(owners) != 3 {
		t.Errorf("32 namespaces are on %d servers", len(owners))
	}
	conforms(t, client)
	found, err := redisstore.New(client).Examine(t.Context())
	if err != nil || len(found) != 3 || found[0].Kind != "not-persistent" || found[0].Text == found[1].Text {
		t.Errorf("three servers without persistence: %+v, %v", found, err)
	}
}

// A watched is a primary with a replica, and three Sentinels that watch them.
type watched struct {
	primary, replica *dbtest.Process
	link             *dbtest.Proxy // through which the replica follows
	sentinels        []string
}

// connect returns a client of the server that is the primary.
func (w *watched) connect(t *testing.T) *redis.Client {
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "primary", SentinelAddrs: w.sentinels, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// sentinel watches a primary called "primary". It takes two Sentinels to replace a primary
// that does not answer for half a second.
func sentinel(primary string) dbtest.Service {
	s := dbtest.Redis()
	s.Serve = func(command []string, dir string, port int) []string {
		file := filepath.Join(dir, "sentinel.conf")
		return dbtest.WithFile(file, fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
sentinel monitor primary %s 2
sentinel down-after-milliseconds primary 500
sentinel failover-timeout primary 60000
`, port, dir, strings.Replace(primary, ":", " ", 1)), command[0], file, "--sentinel")
	}
	return s
}

func startWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{primary: dbtest.Redis("--repl-diskless-sync-delay", "0").Start(t)}
	w.link = dbtest.ProxyTo(t, w.primary.Address)
	w.replica = dbtest.Redis("--replicaof", strings.Replace(w.link.Address(), ":", " ", 1)).Start(t)
	for range 3 {
		w.sentinels = append(w.sentinels, sentinel(w.primary.Address).Start(t).Address)
	}
	dbtest.Await(t, "the replica and the Sentinels", func() bool {
		for _, address := range w.sentinels {
			s := redis.NewSentinelClient(&redis.Options{Addr: address})
			primary, err := s.Master(t.Context(), "primary").Result()
			s.Close()
			if err != nil || primary["num-slaves"] != "1" || primary["num-other-sentinels"] != "2" || primary["flags"] != "master" {
				return false
			}
		}
		info, _ := connect(t, w.replica.Address).Info(t.Context(), "replication").Result()
		return strings.Contains(info, "master_link_status:up")
	})
	return w
}

// After the suite, Sentinel promotes the replica. Ids continue on the new primary.
// Lost commits are tested in test/chaos.
func TestNightlySentinel(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	client := w.connect(t)
	conforms(t, client)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool := dbtest.Must(snowkey.Open(ctx, redisstore.New(client), snowkey.Config{Window: time.Second, MaxClockSkew: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}))(t)
	defer pool.Close(ctx)
	dbtest.NoError(t, w.primary.Kill())
	var last int64
	promoted := ":" + w.replica.Address[strings.Index(w.replica.Address, ":")+1:]
	for end := int64(0); end == 0 || last < end; { // more ids than the old primary has granted
		id := dbtest.Must(pool.Next(ctx))(t)
		if id <= last {
			t.Fatalf("%d after %d", id, last)
		}
		last = id
		if end > 0 {
			continue
		}
		info, err := client.Info(ctx, "server").Result()
		if err == nil && strings.Contains(info, "tcp_port"+promoted) {
			end = id + 3000<<22 // three seconds of the default layout
		}
	}
}
