package versions

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
	"github.com/snowkey-go/snowkey/lease/redisstore"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// These return a store, and what it keeps under keys of its own. A field of a Redis hash is a
// part of the key.

func redisServer(t *testing.T) (lease.Store, func() map[string]string) {
	client := redis.NewClient(&redis.Options{Addr: dbtest.Redis().Start(t).Address, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return redisstore.New(client), func() map[string]string {
		all := make(map[string]string)
		for _, key := range dbtest.Must(client.Keys(t.Context(), "*").Result())(t) {
			for field, value := range dbtest.Must(client.HGetAll(t.Context(), key).Result())(t) {
				all[key+"\t"+field] = value
			}
		}
		return all
	}
}

func etcdServer(t *testing.T) (lease.Store, func() map[string]string) {
	address := dbtest.Etcd().Start(t).Address
	client := dbtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 2 * time.Second, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dbtest.Must(client.Get(ctx, "first"))(t) // the client sends it again until there is a leader
	return etcdstore.New(client), func() map[string]string {
		all := make(map[string]string)
		for _, kv := range dbtest.Must(client.Get(t.Context(), "snowkey/", clientv3.WithPrefix()))(t).Kvs {
			all[string(kv.Key)] = string(kv.Value)
		}
		return all
	}
}

// A node of ZooKeeper names the transaction that created it, and its leader.
func zooKeeperServer(t *testing.T) (lease.Store, func() map[string]string) {
	conn, _, err := zk.Connect([]string{dbtest.ZooKeeper().Start(t).Address}, 10*time.Second, zk.WithLogInfo(false))
	dbtest.NoError(t, err)
	t.Cleanup(conn.Close)
	var walk func(path string, all map[string]string)
	walk = func(path string, all map[string]string) {
		value, _, err := conn.Get(path)
		dbtest.NoError(t, err)
		names, _, err := conn.Children(path)
		dbtest.NoError(t, err)
		all[path] = string(value)
		for _, name := range names {
			walk(path+"/"+name, all)
		}
	}
	return zkstore.New(conn), func() map[string]string {
		all := make(map[string]string)
		walk("/snowkey", all)
		return all
	}
}

// Labels, tokens, numbers, and the names of namespaces, clusters and eras differ in each run.
var differing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile("host(%20| )[ab]"), "LABEL"},
	{regexp.MustCompile(`("cluster":|"fingerprint":)"[0-9a-z{}]+"`), `$1"CLUSTER"`},
	{regexp.MustCompile(`[A-Z2-7]{26}[0-9a-z]+\.[0-9a-z]+`), "TOKEN"},
	{regexp.MustCompile(`[A-Z2-7]{26}`), "ERA"},
	{regexp.MustCompile(`[0-9]*\{(bound|fence|held|later|time|czxid|epoch)\}|[0-9]+`), "0"},
	{regexp.MustCompile(namespace + "|fenced"), "default"},
}

// namespace is created by the test.
const namespace = "written-again"

func form(text string) string {
	for _, d := range differing {
		text = d.pattern.ReplaceAllString(text, d.by)
	}
	return text
}

// What this release writes for a new namespace has the forms that are frozen, which earlier
// releases read.
func TestFormsOfKeys(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (lease.Store, func() map[string]string){"redis": redisServer, "etcd": etcdServer, "zookeeper": zooKeeperServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, content := start(t)
			known := make(map[string]bool)
			for line := range strings.Lines(read(t, fmt.Sprintf("testdata/protocol%d/%s.txt", protocol.Version, name))) {
				known[form(strings.TrimSuffix(line, "\n"))] = true
			}
			cfg := config
			cfg.Namespace, cfg.Label, cfg.MaxWorker, cfg.SkipMigrate, cfg.Window = namespace, "host a", 2, false, time.Second
			written := make(map[string]string)
			look := func() {
				for key, value := range content() {
					if strings.Contains(key, namespace) {
						written[form(key+"\t"+value)] = key + "\t" + value
					}
				}
			}
			var pools []*idgen.Pool
			for range 2 {
				pool := dbtest.Must(snowkey.Open(t.Context(), store, cfg))(t)
				defer pool.Close(context.Background())
				look()
				pools = append(pools, pool)
				dbtest.Must(pool.Next(t.Context()))(t)
				look()
			}
			dbtest.NoError(t, pools[1].Close(t.Context()))
			look()
			if len(written) < 4 {
				t.Errorf("the namespace has only the keys %q", written)
			}
			for _, f := range slices.Sorted(maps.Keys(written)) {
				if !known[f] {
					t.Errorf("this release writes a form that is not frozen:\n%s\n%s", written[f], f)
				}
			}
		})
	}
}
