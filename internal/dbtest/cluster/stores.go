package cluster

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// Etcd starts a cluster of n members of etcd, whose Address is the one for clients. A
// member counts as started once it listens, because it does not answer clients before
// most members run. So the caller must wait for a leader.
func Etcd(t dbtest.TB, n int) []*dbtest.Process {
	t.Helper()
	peers, names := freeAddresses(t, n), make([]string, n)
	for i, peer := range peers {
		names[i] = fmt.Sprintf("m%d=http://%s", i, peer)
	}
	members := make([]*dbtest.Process, n)
	for i, peer := range peers {
		members[i] = dbtest.Etcd("--name", fmt.Sprint("m", i),
			"--initial-cluster", strings.Join(names, ","), "--initial-cluster-state", "new",
			"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer).Start(t)
	}
	return members
}

// Sentinel is a Redis Sentinel that watches a primary called "primary". It takes two of
// them to replace a primary that does not answer for half a second.
func Sentinel(primary string) dbtest.Service {
	s := dbtest.Redis()
	s.Serve = func(paths []string, dir string, port int) []string {
		config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor primary %s 2\n", port, dir, strings.Replace(primary, ":", " ", 1)) +
			"sentinel down-after-milliseconds primary 500\nsentinel failover-timeout primary 60000\n"
		return []string{"sh", "-c", `printf %s "$2" >"$1" && exec "$0" "$1" --sentinel`, paths[0], filepath.Join(dir, "sentinel.conf"), config}
	}
	return s
}

func freeAddresses(t dbtest.TB, n int) (addresses []string) {
	t.Helper()
	for range n {
		addresses = append(addresses, fmt.Sprint("127.0.0.1:", dbtest.FreePort(t)))
	}
	return addresses
}

// listens returns nil if a server listens at the address.
func listens(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
