// Package zkstore tests the leases of package lease/zkstore on real ZooKeeper servers.
package zkstore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// connect returns a session with the servers, which ends with the test.
func connect(t testing.TB, servers ...string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// operated is a store whose nodes a test can edit. A node that a person writes has only
// the state "before", and no request.
type operated struct {
	*zkstore.Store
	conn *zk.Conn
	path string
}

var _ leasetest.Operator = operated{}

func (s operated) layout(t lease.Terms) string {
	return s.path + "/namespaces/" + escape(t.Namespace) + "/" + escape(t.Layout)
}

func (s operated) row(t lease.Terms, worker int64) string {
	return fmt.Sprint(s.layout(t), "/", worker)
}

func escape(name string) string {
	switch name {
	case "":
		return "%"
	case ".", "..":
		return strings.Replace(name, ".", "%2E", 1)
	}
	return url.PathEscape(name)
}

func (s operated) set(node string, before map[string]any) error {
	content, err := json.Marshal(map[string]any{"before": before})
	if err == nil {
		_, err = s.conn.Set(node, content, -1)
	}
	return err
}

func (s operated) Delete(_ context.Context, t lease.Terms, worker int64) error {
	return s.conn.Delete(s.row(t, worker), -1)
}

func (s operated) Edit(_ context.Context, t lease.Terms, r lease.Row) error {
	return s.set(s.row(t, r.Worker), map[string]any{
		"token": r.Token, "revision": r.Revision, "bound": r.Bound, "expires": r.Expires, "label": escape(r.Label)})
}

func (s operated) DeleteNamespace(_ context.Context, t lease.Terms) error {
	return s.set(s.layout(t), map[string]any{"fingerprint": ""})
}

func (s operated) SetFingerprint(ctx context.Context, t lease.Terms, fingerprint string) error {
	p, err := s.Probe(ctx, lease.Query{Terms: t})
	if err != nil {
		return err
	}
	return s.set(s.layout(t), map[string]any{"fingerprint": fingerprint, "fence": p.Fence})
}

// TestZooKeeper has all tests that can share a server.
func TestZooKeeper(t *testing.T) {
	servers := []string{dbtest.ZooKeeper().Start(t).Address}
	for name, test := range map[string]func(*testing.T, []string){
		"suite": suite, "renewal of a deleted row": renewalOfADeletedRow, "requests of a renewal": requestsOfARenewal,
		"fence during a claim": fenceDuringAClaim, "errors": errorsOfTheStore,
	} {
		t.Run(name, func(t *testing.T) { test(t, servers) })
	}
}

func suite(t *testing.T, servers []string) {
	conn := connect(t, servers...)
	var n atomic.Int64
	leasetest.Run(t, func(t *testing.T) lease.Store {
		path := fmt.Sprintf("/test/%d", n.Add(1))
		store := dbtest.Must(zkstore.New(conn).WithPath(path))(t)
		return operated{store, conn, path}
	})
}
