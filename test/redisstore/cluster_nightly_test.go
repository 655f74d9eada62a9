//go:build nightly

package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

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
