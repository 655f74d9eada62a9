//go:build nightly && unix

package chaos

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

func init() { backends = append(backends, zooKeeperBackend) }

const sessionTimeout = 3 * time.Second

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
	conn, _, err := zk.Connect(strings.Split(text, ","), sessionTimeout, zk.WithLogInfo(false))
	return conn, err
}

// allow sets what everybody may do with the nodes of the store.
func allow(addresses []string, may int32) error {
	conn, err := dialZooKeeper(strings.Join(addresses, ","))
	if err != nil {
		return err
	}
	defer conn.Close()
	paths := []string{"/snowkey"}
	for i := 0; i < len(paths); i++ {
		if _, err := conn.SetACL(paths[i], zk.WorldACL(may), -1); err != nil {
			return err
		}
		names, _, err := conn.Children(paths[i])
		if err != nil {
			return err
		}
		for _, name := range names {
			paths = append(paths, paths[i]+"/"+name)
		}
	}
	return nil
}

// startZooKeeper starts an ensemble of three servers. Faults happen to the leader.
func startZooKeeper(t dbtest.TB) server {
	z := cluster.ZooKeepers(t, 3)
	addresses := z.Addresses()
	var struck *dbtest.Process // the leader that was killed or stopped last
	strike := func(do func(*dbtest.Process) error) (err error) {
		if struck, err = z.Leader(); err == nil {
			err = do(struck)
		}
		return err
	}
	others := func(leader *dbtest.Process, sent syscall.Signal) (err error) {
		for _, m := range z.Members {
			if m != leader {
				err = errors.Join(err, m.Signal(sent))
			}
		}
		return err
	}
	data := func(m *dbtest.Process) string { return filepath.Join(m.Dir, "version-2") }
	replace := func(to, from string) error {
		return exec.Command("sh", "-c", `rm -rf "$0" && cp -a "$1" "$0"`, to, from).Run()
	}
	// restart kills all members, lets change do something to each of them, and starts them.
	restart := func(change func(m *dbtest.Process) error) (err error) {
		for _, m := range z.Members {
			if m.Runs() {
				err = errors.Join(err, m.Kill())
			}
		}
		for _, m := range z.Members {
			err = errors.Join(err, change(m), m.Start())
		}
		return errors.Join(err, z.Await())
	}
	return server{
		text: strings.Join(addresses, ","), addresses: addresses,
		kill:   func() error { return strike((*dbtest.Process).Kill) },
		start:  func() error { return errors.Join(struck.Start(), z.Await()) },
		stop:   func() error { return strike(func(m *dbtest.Process) error { return m.Signal(syscall.SIGSTOP) }) },
		resume: func() error { return errors.Join(struck.Signal(syscall.SIGCONT), z.Await()) },
		more: []harm{
			{name: "the leader's followers paused", begin: func(*network) error {
				return strike(func(leader *dbtest.Process) error { return others(leader, syscall.SIGSTOP) })
			}, lasts: 3 * time.Second, end: func(*network) error {
				return errors.Join(others(struck, syscall.SIGCONT), z.Await())
			}},
			{name: "all members killed -9", begin: func(*network) error {
				return restart(func(*dbtest.Process) error { return nil })
			}},
			{name: "all members restored from an older copy", begin: func(*network) error {
				m := z.Members[0]
				backup := filepath.Join(m.Dir, "copy")
				if err := errors.Join(m.Kill(), replace(backup, data(m)), m.Start()); err != nil {
					return err
				}
				time.Sleep(700 * time.Millisecond) // what the ensemble commits now is lost
				return restart(func(m *dbtest.Process) error { return replace(data(m), backup) })
			}},
			// The ensemble counts from the beginning, and refuses clients that have seen more.
			{name: "the data of all members deleted", begin: func(*network) error {
				return restart(func(m *dbtest.Process) error { return os.RemoveAll(data(m)) })
			}, newClients: true},
			{name: "network cut until sessions expire", begin: func(net *network) error {
				net.cut()
				return nil
			}, lasts: 2 * sessionTimeout, end: func(net *network) error {
				net.heal()
				return nil
			}},
			{name: "nodes may not be written", begin: func(*network) error {
				return allow(addresses, zk.PermRead|zk.PermAdmin)
			}, lasts: 3 * time.Second, end: func(*network) error {
				return allow(addresses, zk.PermAll)
			}},
		},
	}
}
