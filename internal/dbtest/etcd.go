package dbtest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// EtcdCluster starts a cluster of n members of etcd, whose Address is the one for
// clients. A member counts as started once it listens to the other members, because it
// does not answer clients before most members run. So the caller must wait for a leader.
func EtcdCluster(t TB, n int) []*Running {
	t.Helper()
	peers, names := make([]string, n), make([]string, n)
	for i := range n {
		port, err := freePort()
		if err != nil {
			t.Fatalf("dbtest: no free port: %v", err)
		}
		peers[i] = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		names[i] = fmt.Sprint("m", i, "=", peers[i])
	}
	members := make([]*Running, n)
	for i, peer := range peers {
		members[i] = Service{
			Name:     "etcd",
			Programs: []string{"etcd"},
			Dirs:     []string{"/usr/local/bin"},
			Packages: "etcd-server",
			Account:  "etcd",
			Serve: func(paths []string, dir string, port int) []string {
				client := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
				return []string{
					paths[0], "--name", fmt.Sprint("m", i), "--data-dir", dir, "--log-level", "error",
					"--initial-cluster", strings.Join(names, ","), "--initial-cluster-state", "new",
					"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
					"--listen-client-urls", client, "--advertise-client-urls", client,
				}
			},
			Answers: func(ctx context.Context, _ string) error {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(peer, "http://"))
				if err != nil {
					return err
				}
				return conn.Close()
			},
		}.Start(t)
	}
	return members
}
