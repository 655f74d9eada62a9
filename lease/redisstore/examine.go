package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/lease"
)

// Examine implements [lease.Store]. It looks for settings that could make the server lose
// more than the last few commits. Ids stay unique even then, since each lease holds off,
// but all processes would lose their leases at once. In a cluster, every primary is
// checked.
//
//	eviction        the server may evict the keys when its memory is full
//	not-persistent  the server has no append-only file, so a restart loses leases
//	not-saved       the server failed to write its append-only file or its last snapshot
//	read-only       the server is a replica
//	cannot-tell     the user may not run INFO
func (s *Store) Examine(ctx context.Context) ([]lease.Finding, error) {
	var mu sync.Mutex
	var all []lease.Finding
	examine := func(ctx context.Context, server redis.Cmdable, name string) error {
		info, err := server.Info(ctx).Result()
		if err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
			info, err = "", nil
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, findingsOf(info, name)...)
		return err
	}
	var err error
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			return examine(ctx, c, "the server "+c.Options().Addr)
		})
	} else {
		err = examine(ctx, s.client, "the server")
	}
	if err != nil {
		return nil, explain(err)
	}
	slices.SortFunc(all, func(a, b lease.Finding) int { return strings.Compare(a.Text, b.Text) })
	return all, nil
}

// findingsOf returns the findings of a server's INFO, which is empty if the user may not
// run it.
func findingsOf(info, name string) (all []lease.Finding) {
	add := func(kind, text, remedy string) {
		all = append(all, lease.Finding{Kind: kind, Text: name + " " + text, Remedy: remedy})
	}
	if info == "" {
		add("cannot-tell", "does not let this user run INFO", "ACL SETUSER name +info")
		return all
	}
	values := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		values[name] = value
	}
	// Policies such as volatile-lru evict only keys that expire, which ours don't.
	if policy := values["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") && values["maxmemory"] != "0" {
		add("eviction", fmt.Sprintf("runs with maxmemory-policy %s and may evict the leases", policy),
			"set maxmemory-policy noeviction or one of the volatile policies")
	}
	if values["aof_enabled"] == "0" {
		add("not-persistent", "runs with appendonly no, so a restart loses leases", "set appendonly yes")
	}
	for _, status := range []string{"aof_last_write_status", "rdb_last_bgsave_status"} {
		if values[status] == "err" {
			add("not-saved", "failed to save its data: "+status+" is err", "check its disk and its log")
		}
	}
	if values["role"] == "slave" {
		add("read-only", "is a replica, so leases cannot be renewed", "connect to the primary")
	}
	return all
}
