//go:build nightly

package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

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
