package zkstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// connect returns a session with the servers, which ends with the test.
func connect(t testing.TB, servers []string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// operated is a store whose nodes a test can edit.
type operated struct{ *Store }

var _ leasetest.Operator = operated{}

func (s operated) set(path string, v any) error {
	_, err := s.conn.Set(path, encode(v), -1)
	return err
}

func (s operated) Delete(_ context.Context, t lease.Terms, worker int64) error {
	return s.conn.Delete(s.rowPath(t, worker), -1)
}

func (s operated) Edit(_ context.Context, t lease.Terms, r lease.Row) error {
	return s.set(s.rowPath(t, r.Worker), rowNode{Before: stateOf(r)})
}

func (s operated) DeleteNamespace(_ context.Context, t lease.Terms) error {
	return s.set(s.layoutPath(t), layoutNode{})
}

func (s operated) SetFingerprint(ctx context.Context, t lease.Terms, fingerprint string) error {
	a, err := s.get(ctx, s.layoutPath(t))
	if err != nil {
		return err
	}
	sp, err := readLayout(s.layoutPath(t), a)
	sp.Fingerprint = fingerprint
	if err != nil {
		return err
	}
	return s.set(s.layoutPath(t), layoutNode{Before: sp})
}

func TestStore(t *testing.T) {
	for name, members := range map[string]int{"ensemble": 1, "standalone": 0} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, dbtest.ZooKeepers(t, members).Addresses())
			var n atomic.Int64
			leasetest.Run(t, func(t *testing.T) lease.Store {
				store, err := New(conn).WithPath(fmt.Sprintf("/test/%d", n.Add(1)))
				if err != nil {
					t.Fatal(err)
				}
				return operated{store}
			})
		})
	}
}
