//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// operated returns a store whose keys a test can edit.
func operated(client *clientv3.Client, prefix string, options ...etcdstore.Option) lease.Store {
	store := etcdstore.New(client, append(options, etcdstore.WithPrefix(prefix))...)
	return kvtest.Operator{Store: store, Change: func(ctx context.Context, t lease.Terms, worker int64, change func(string) string) error {
		key := prefix + url.PathEscape(t.Namespace)
		if worker == kvlease.OfNamespace {
			key += "/layouts"
		} else {
			key += "/rows/" + url.PathEscape(t.Layout) + fmt.Sprintf("/%019d", worker)
		}
		resp, err := client.Get(ctx, key)
		if err != nil || len(resp.Kvs) == 0 {
			return err
		}
		_, err = client.Put(ctx, key, change(string(resp.Kvs[0].Value)))
		return err
	}}
}

func TestStore(t *testing.T) {
	c := start(t, 1)
	client := c.connect(nil)
	stores := 0
	for name, options := range map[string][]etcdstore.Option{"hold-off": nil, "without hold-off": {etcdstore.WithoutHoldOff()}} {
		t.Run(name, func(t *testing.T) {
			leasetest.Run(t, func(t *testing.T) lease.Store {
				stores++
				return operated(client, fmt.Sprintf("test%d/", stores), options...)
			})
		})
	}
}

// programEnv makes the test binary run as another program, in a process of its own.
const programEnv = "SNOWKEY_TEST_ETCD_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(programEnv) {
	case "etcd":
		etcdmain.Main(os.Args)
	case "etcdctl":
		ctlv3.MustStart()
	case "etcdutl snapshot":
		if err := etcdutl.NewSnapshotCommand().Execute(); err != nil {
			os.Exit(1)
		}
	default:
		flag.Parse()
		flag.Set("test.parallel", "4") // whatever the number of processors, since these tests mostly wait
		os.Exit(m.Run())
	}
}
