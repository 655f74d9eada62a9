package cluster

import (
	"fmt"
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

func freeAddresses(t dbtest.TB, n int) (addresses []string) {
	t.Helper()
	for range n {
		addresses = append(addresses, fmt.Sprint("127.0.0.1:", dbtest.FreePort(t)))
	}
	return addresses
}
