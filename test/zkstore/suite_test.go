// Package zkstore tests the leases of package lease/zkstore on real ZooKeeper servers.
package zkstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// connect returns a session with the servers, which ends with the test.
func connect(t testing.TB, servers ...string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	dbtest.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// operated returns a store whose nodes a test can edit. A node that a person writes has only
// a text.
func operated(store *zkstore.Store, conn *zk.Conn, path string) kvtest.Operator {
	return kvtest.Operator{Store: store, Change: func(_ context.Context, t lease.Terms, worker int64, change func(string) string) error {
		node := nodeOf(path, t, worker)
		data, stat, err := conn.Get(node)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		var content struct {
			Text json.RawMessage `json:"text"`
		}
		if err := errors.Join(err, json.Unmarshal(data, &content)); err != nil {
			return err
		}
		content.Text = json.RawMessage(change(string(content.Text)))
		data, err = json.Marshal(content)
		if err == nil {
			_, err = conn.Set(node, data, stat.Version)
		}
		return err
	}}
}

func nodeOf(path string, t lease.Terms, worker int64) string {
	path += "/namespaces/" + escape(t.Namespace)
	if worker != kvlease.OfNamespace {
		path += fmt.Sprint("/", escape(t.Layout), "/", worker)
	}
	return path
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

// TestZooKeeper has all tests that can share a server.
func TestZooKeeper(t *testing.T) {
	servers := []string{dbtest.ZooKeeper().Start(t).Address}
	for name, test := range map[string]func(*testing.T, []string){
		"suite": suite, "interrupted migration": interruptedMigration, "renewal of a deleted row": renewalOfADeletedRow, "requests of a renewal": requestsOfARenewal,
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
		return operated(dbtest.Must(zkstore.New(conn).WithPath(path))(t), conn, path)
	})
}
