//go:build nightly

package zkstore

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// Open leases a worker number from ZooKeeper. The caller closes the pool before the connection.
func Open(ctx context.Context, servers []string) (*idgen.Pool, *zk.Conn, error) {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithDialer(zkstore.Dialer(5*time.Second)))
	if err != nil {
		return nil, nil, err
	}
	pool, err := snowkey.Open(ctx, zkstore.New(conn), snowkey.Config{})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return pool, conn, nil
}

// Two pools that the page's code opens on three servers draw different ids.
func TestNightlyOpen(t *testing.T) {
	source := dbtest.Must(os.ReadFile("open_nightly_test.go"))(t)
	page := dbtest.Must(os.ReadFile("../../docs/stores.md"))(t)
	_, code, _ := strings.Cut(string(page), "\n## ZooKeeper\n\n```go\n")
	code, _, ok := strings.Cut(code, "```")
	if !ok || !strings.Contains(string(source), code) {
		t.Errorf("this file does not have the code of the page:\n%s", code)
	}

	servers := []string{dbtest.ZooKeeper().Start(t).Address}
	seen := make(map[int64]bool)
	for range 2 {
		pool, conn, err := Open(t.Context(), servers)
		dbtest.NoError(t, err)
		defer conn.Close()
		defer pool.Close(t.Context())
		for range 10_000 {
			id := dbtest.Must(pool.Next(t.Context()))(t)
			if seen[id] {
				t.Fatalf("the id %d is issued again", id)
			}
			seen[id] = true
		}
	}
}
