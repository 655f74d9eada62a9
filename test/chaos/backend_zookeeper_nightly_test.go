//go:build nightly && unix

package chaos

import (
	"errors"
	"os/exec"
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

// startZooKeeper starts an ensemble of three servers.
func startZooKeeper(t dbtest.TB) server {
	z := cluster.ZooKeepers(t, 3)
	e := &ensemble{members: z.Members, leader: z.Leader, ready: z.Await}
	followers := func(sent syscall.Signal) (err error) {
		for _, m := range e.members {
			if m != e.struck {
				err = errors.Join(err, m.Signal(sent))
			}
		}
		return err
	}
	return e.server(
		harm{name: "the leader's followers paused", begin: func(*network) error {
			return e.strike(func(*dbtest.Process) error { return followers(syscall.SIGSTOP) })
		}, lasts: 3 * time.Second, end: func(*network) error {
			return errors.Join(followers(syscall.SIGCONT), e.ready())
		}},
		harm{name: "all members killed -9", begin: func(*network) error { return e.restart("true") }},
		e.older(func() error {
			m := e.members[0]
			return errors.Join(m.Kill(), exec.Command("sh", "-c", `rm -rf "$0/copy" && cp -a "$0/version-2" "$0/copy"`, m.Dir).Run(), m.Start())
		}, `rm -rf "$0/version-2" && cp -a "$1/copy" "$0/version-2"`),
		// The ensemble counts from the beginning, and refuses clients that have seen more.
		harm{name: "the data of all members deleted", begin: func(*network) error { return e.restart(`rm -rf "$0/version-2"`) }, newClients: true},
		harm{name: "network cut until sessions expire", begin: func(net *network) error {
			net.cut()
			return nil
		}, lasts: 2 * sessionTimeout, end: func(net *network) error {
			net.heal()
			return nil
		}},
		harm{name: "nodes may not be written", begin: func(*network) error {
			return allow(z.Addresses(), zk.PermRead|zk.PermAdmin)
		}, lasts: 3 * time.Second, end: func(*network) error {
			return allow(z.Addresses(), zk.PermAll)
		}},
	)
}
