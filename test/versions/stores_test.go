package versions

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// A server keeps leases under keys of its own. A field of a Redis hash is a part of the key.
type server struct {
	name    string // of the file in testdata
	store   lease.Store
	put     func(key, value string)
	content func() map[string]string
}

func redisServer(t *testing.T) server {
	client := redis.NewClient(&redis.Options{Addr: dbtest.Redis().Start(t).Address, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return server{
		name: "redis", store: redisstore.New(client),
		put: func(key, value string) {
			key, field, _ := strings.Cut(key, "\t")
			must(t, client.HSet(t.Context(), key, field, value).Err())
		},
		content: func() map[string]string {
			all := make(map[string]string)
			keys, err := client.Keys(t.Context(), "*").Result()
			must(t, err)
			for _, key := range keys {
				fields, err := client.HGetAll(t.Context(), key).Result()
				must(t, err)
				for field, value := range fields {
					all[key+"\t"+field] = value
				}
			}
			return all
		},
	}
}

func etcdServer(t *testing.T) server {
	address := dbtest.Etcd().Start(t).Address
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 2 * time.Second, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	first, err := client.Get(ctx, "first") // the client sends it again until there is a leader
	must(t, err)
	known := strings.NewReplacer("{cluster}", strconv.FormatUint(first.Header.ClusterId, 16), "000{time}", fmt.Sprintf("%019d", time.Now().UnixMicro()), "{time}", fmt.Sprint(time.Now().UnixMicro()))
	return server{
		name: "etcd", store: etcdstore.New(client),
		put: func(key, value string) {
			var options []clientv3.OpOption
			if strings.HasSuffix(key, "/alive") { // exists as long as an etcd lease
				granted, err := client.Grant(t.Context(), 30)
				must(t, err)
				options = append(options, clientv3.WithLease(granted.ID))
			}
			_, err := client.Put(t.Context(), key, known.Replace(value), options...)
			must(t, err)
		},
		content: func() map[string]string {
			all := make(map[string]string)
			found, err := client.Get(t.Context(), "snowkey/", clientv3.WithPrefix())
			must(t, err)
			for _, kv := range found.Kvs {
				all[string(kv.Key)] = string(kv.Value)
			}
			return all
		},
	}
}

// A node of ZooKeeper names the transaction that created it, and its leader.
func zooKeeperServer(t *testing.T) server {
	conn, _, err := zk.Connect([]string{dbtest.ZooKeeper().Start(t).Address}, 10*time.Second, zk.WithLogger(quiet{}))
	must(t, err)
	t.Cleanup(conn.Close)
	var walk func(path string, all map[string]string)
	walk = func(path string, all map[string]string) {
		value, _, err := conn.Get(path)
		must(t, err)
		names, _, err := conn.Children(path)
		must(t, err)
		all[path] = string(value)
		for _, name := range names {
			walk(path+"/"+name, all)
		}
	}
	return server{
		name: "zookeeper", store: zkstore.New(conn),
		put: func(path, value string) {
			_, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
			must(t, err)
			_, stat, err := conn.Get(path)
			must(t, err)
			known := strings.NewReplacer("{czxid}", fmt.Sprint(stat.Czxid), "{epoch}", fmt.Sprint(stat.Czxid>>32),
				"{later}", fmt.Sprint(time.Now().Add(time.Hour).UnixMicro()))
			_, err = conn.Set(path, []byte(known.Replace(value)), -1)
			must(t, err)
		},
		content: func() map[string]string {
			all := make(map[string]string)
			walk("/snowkey", all)
			return all
		},
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// frozen returns the keys and values that this release wrote, in their order.
func (s server) frozen(t *testing.T) (keys, values []string) {
	t.Helper()
	for line := range strings.Lines(read(t, fmt.Sprintf("testdata/protocol%d/%s.txt", protocol.Version, s.name))) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndex(line, "\t")
		keys, values = append(keys, line[:i]), append(values, line[i+1:])
	}
	return keys, values
}

// termsIn returns the terms of a process with config.
func termsIn(namespace string) lease.Terms {
	l := idgen.DefaultLayout()
	return lease.Terms{Namespace: namespace, Layout: l.String(), Epoch: l.Epoch().UnixMicro(), Unit: 1000, PerTick: 4096, Workers: 1024,
		Ahead: 10_050_000, Skew: 50_000, TTL: 15_000_000}
}

// Keys that an earlier release wrote are used as they are: each row has the same parts, and
// a process leases a row that exists.
func TestKeysOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) server{"redis": redisServer, "etcd": etcdServer, "zookeeper": zooKeeperServer} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			began := time.Now()
			bound := at(began.Add(time.Second))
			keys, values := s.frozen(t)
			for i, key := range keys {
				s.put(key, fill(values[i], bound))
			}
			rows, err := s.store.Rows(t.Context(), termsIn("default"), 0, 9)
			must(t, err)
			want := []string{
				fmt.Sprintf("0 %q 7 %d free host a", "", bound),
				fmt.Sprintf("1 %q 8 %d expired host b", "NVE3YALPPHX6X64NBQVKVGPPVXdn54y0uecn62.tp3zjs", bound),
				fmt.Sprintf("2 %q 0 %d free ", "", bound),
			}
			if name == "zookeeper" { // its rows are the results of a release, a claim and a renewal
				want[1] = fmt.Sprintf("1 %q 1 %d held host b", "NVE3YALPPHX6X64NBQVKVGPPVXdn54y0uecn62.tp3zjs", bound)
				want[2] = fmt.Sprintf("2 %q 9 %d held host a", "HK6QWYJEWTDAEH4MCTW3I3QHLTdn54y1hf5pgk.tp3zjt", bound)
			}
			var got []string
			for _, r := range rows {
				state := "held"
				if r.Expires == 0 {
					state = "free"
				} else if r.Expires < began.UnixMicro() {
					state = "expired"
				}
				got = append(got, fmt.Sprintf("%d %q %d %d %s %s", r.Worker, r.Token, r.Revision, r.Bound, state, r.Label))
			}
			if !slices.Equal(got, want) {
				t.Errorf("the rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			probe, err := s.store.Probe(t.Context(), lease.Query{Terms: termsIn("default"), Max: 9, PreferWorker: -1})
			must(t, err)
			if !probe.HasNamespace || probe.Fingerprint != probe.Current || name != "zookeeper" && probe.Fence != bound-1 {
				t.Errorf("the namespace is read as %+v", probe)
			}

			if name == "zookeeper" {
				fenced(t, s)
			}

			above(t, s.store, config, bound)
			after, err := s.store.Rows(t.Context(), termsIn("default"), 0, 9)
			must(t, err)
			used := 0
			for i, r := range after {
				if r.Revision > rows[i].Revision {
					used++
				}
			}
			layouts, position, err := s.store.Layouts(t.Context(), "default")
			must(t, err)
			if len(after) != len(rows) || used != 1 || len(layouts) != 1 || position != 1 {
				t.Errorf("the process used %d of %d rows, and the layouts are now %q, %d", used, len(after), layouts, position)
			}
			s.writesTheSame(t)
		})
	}
}

// fenced reads a namespace of ZooKeeper whose fence was raised, and whose rows were added.
func fenced(t *testing.T, s server) {
	t.Helper()
	terms := termsIn("fenced")
	rows, err := s.store.Rows(t.Context(), terms, 0, 9)
	must(t, err)
	probe, err := s.store.Probe(t.Context(), lease.Query{Terms: terms, Max: 9, PreferWorker: -1})
	must(t, err)
	least := terms.At(time.Now().UnixMicro()).Tick
	if !probe.HasNamespace || probe.Fingerprint != probe.Current || probe.Fence < least {
		t.Errorf("the fenced namespace is read as %+v", probe)
	}
	for _, r := range rows {
		if r.Token != "" || r.Revision != 0 || r.Bound < least || r.Expires != 0 {
			t.Errorf("the added row is read as %+v", r)
		}
	}
	if len(rows) != 2 {
		t.Errorf("%d rows were added; want 2", len(rows))
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
	{regexp.MustCompile(again + "|fenced"), "default"},
}

// again is a namespace that a test creates.
const again = "written-again"

func form(key, value string) string {
	text := key + "\t" + value
	for _, d := range differing {
		text = d.pattern.ReplaceAllString(text, d.by)
	}
	return text
}

// writesTheSame compares what the present code writes for a new namespace with the frozen
// forms, which earlier releases read.
func (s server) writesTheSame(t *testing.T) {
	t.Helper()
	known := make(map[string]bool)
	keys, values := s.frozen(t)
	for i, key := range keys {
		known[form(key, values[i])] = true
	}
	cfg := config
	cfg.Namespace, cfg.Label, cfg.MaxWorker, cfg.SkipMigrate, cfg.Window = again, "host a", 2, false, time.Second
	written := make(map[string]string)
	look := func() {
		for key, value := range s.content() {
			if strings.Contains(key, again) {
				written[form(key, value)] = key + "\t" + value
			}
		}
	}
	var pools []*idgen.Pool
	for range 2 {
		pool, err := snowkey.Open(t.Context(), s.store, cfg)
		must(t, err)
		defer pool.Close(context.Background())
		look()
		pools = append(pools, pool)
		_, err = pool.Next(t.Context())
		must(t, err)
		look()
	}
	must(t, pools[1].Close(t.Context()))
	look()
	if len(written) < 4 {
		t.Errorf("the namespace has only the keys %q", written)
	}
	for _, f := range slices.Sorted(maps.Keys(written)) {
		if !known[f] {
			t.Errorf("this release writes a form that is not frozen:\n%s\n%s", written[f], f)
		}
	}
}
