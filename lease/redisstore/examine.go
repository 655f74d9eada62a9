package redisstore

import (
	"context"
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
	examine := func(ctx context.Context, server redis.UniversalClient, name string) error {
		info := redis.NewInfoCmd(ctx, "info")
		err := server.Process(ctx, info)
		if err != nil && !strings.HasPrefix(err.Error(), "NOPERM") {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, findingsOf(info, name)...)
		return nil
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

// findingsOf returns the findings of a server's INFO.
func findingsOf(info *redis.InfoCmd, name string) (all []lease.Finding) {
	policy := info.Item("Memory", "maxmemory_policy")
	failed := func(status string) bool { return info.Item("Persistence", status) == "err" }
	for _, f := range []struct {
		found              bool
		kind, text, remedy string
	}{
		{info.Err() != nil, "cannot-tell", "does not let this user run INFO", "ACL SETUSER name +info"},
		// Policies such as volatile-lru evict only keys that expire, which ours don't.
		{strings.HasPrefix(policy, "allkeys-") && info.Item("Memory", "maxmemory") != "0", "eviction",
			"runs with maxmemory-policy " + policy + " and may evict the leases",
			"set maxmemory-policy noeviction or one of the volatile policies"},
		{info.Item("Persistence", "aof_enabled") == "0", "not-persistent",
			"runs with appendonly no, so a restart loses leases", "set appendonly yes"},
		{failed("aof_last_write_status"), "not-saved",
			"failed to save its data: aof_last_write_status is err", "check its disk and its log"},
		{failed("rdb_last_bgsave_status"), "not-saved",
			"failed to save its data: rdb_last_bgsave_status is err", "check its disk and its log"},
		{info.Item("Replication", "role") == "slave", "read-only",
			"is a replica, so leases cannot be renewed", "connect to the primary"},
	} {
		if f.found {
			all = append(all, lease.Finding{Kind: f.kind, Text: name + " " + f.text, Remedy: f.remedy})
		}
	}
	return all
}
