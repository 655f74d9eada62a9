//go:build nightly && unix

package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

func init() { backends = append(backends, zooKeeperBackend) }

var zooKeeperBackend = backend{
	name: "zookeeper",
	open: func(text string, _ func() time.Time) (lease.Store, error) {
		conn, err := dialZooKeeper(text)
		if err != nil {
			return nil, err
		}
		return zkstore.New(conn), nil
	},
	start:       startZooKeeper,
	fencesOften: true,
}

func dialZooKeeper(text string) (*zk.Conn, error) {
	conn, _, err := zk.Connect(strings.Split(text, ","), 3*time.Second, zk.WithLogInfo(false))
	return conn, err
}

// startZooKeeper starts an ensemble of three servers. Faults happen to the leader.
func startZooKeeper(t dbtest.TB) server {
	z := cluster.ZooKeepers(t, 3)
	folder, err := os.MkdirTemp("", "snowkey-zookeeper-")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return zooKeeperServer(z, folder)
}

// zooKeeperServer keeps copies of the data in a folder.
func zooKeeperServer(z *cluster.ZooKeeper, folder string) server {
	addresses := z.Addresses()
	var struck *cluster.ZooKeeperMember // the leader that was killed or stopped last
	strike := func(do func(*cluster.ZooKeeperMember) error) (err error) {
		if struck, err = z.Leader(); err == nil {
			err = do(struck)
		}
		return err
	}
	backups := 0
	return server{
		text: strings.Join(addresses, ","), addresses: addresses,
		kill:  func() error { return strike(func(m *cluster.ZooKeeperMember) error { return m.Kill() }) },
		start: func() error { return errors.Join(struck.Start(), z.Await()) },
		stop: func() error {
			return strike(func(m *cluster.ZooKeeperMember) error { return m.Signal(syscall.SIGSTOP) })
		},
		resume: func() error { return errors.Join(struck.Signal(syscall.SIGCONT), z.Await()) },
		more: []harm{
			{name: "the leader cut off from its followers", begin: func([]*proxy) error {
				err := z.LastLeads()
				z.Isolate()
				return err
			}, lasts: 3 * time.Second, end: func([]*proxy) error {
				z.Rejoin()
				return z.Await()
			}},
			{name: "all members killed -9", begin: func([]*proxy) error {
				return z.Restart(func(*cluster.ZooKeeperMember) error { return nil })
			}},
			{name: "all members restored from an older copy", begin: func([]*proxy) error {
				backups++
				backup := filepath.Join(folder, fmt.Sprint(backups))
				m := z.Members[0]
				if err := errors.Join(m.Kill(), m.CopyData(backup), m.Start()); err != nil {
					return err
				}
				time.Sleep(700 * time.Millisecond) // what the ensemble commits now is lost
				return z.Restart(func(m *cluster.ZooKeeperMember) error { return m.ReplaceData(backup) })
			}},
		},
	}
}
