package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A ZooKeeper is an ensemble of private ZooKeeper servers.
type ZooKeeper struct{ Members []*dbtest.Process }

// ZooKeepers starts an ensemble of n servers, which end with the test.
func ZooKeepers(t dbtest.TB, n int) *ZooKeeper {
	t.Helper()
	var config strings.Builder
	config.WriteString("standaloneEnabled=false\n")
	for i := range n {
		fmt.Fprintf(&config, "server.%d=127.0.0.1:%d:%d\n", i+1, dbtest.FreePort(t), dbtest.FreePort(t))
	}
	z := new(ZooKeeper)
	for i := range n {
		s := dbtest.ZooKeeperMember(i+1, config.String())
		s.Answers = dbtest.Listens // it serves clients only if most of the ensemble runs
		z.Members = append(z.Members, s.Start(t))
	}
	dbtest.NoError(t, z.Await())
	return z
}

// Addresses returns the addresses of all members, for clients.
func (z *ZooKeeper) Addresses() (list []string) {
	for _, m := range z.Members {
		list = append(list, m.Address)
	}
	return list
}

// Leader waits until there is a leader, and returns it.
func (z *ZooKeeper) Leader() (leader *dbtest.Process, err error) {
	err = dbtest.Within(time.Minute, func() error {
		for _, m := range z.Members {
			if mode, err := mode(m); err == nil && mode != "follower" {
				leader = m
				return nil
			}
		}
		return errors.New("dbtest: ZooKeeper has had no leader for a minute")
	})
	return leader, err
}

// Await waits until all members serve clients.
func (z *ZooKeeper) Await() error {
	for _, m := range z.Members {
		err := dbtest.Within(3*time.Minute, func() error { _, err := mode(m); return err })
		if err != nil {
			return fmt.Errorf("dbtest: %w; the log of ZooKeeper ends:\n%s", err, m.Log())
		}
	}
	return nil
}

// mode returns "leader", "follower" or "standalone", or an error if the server doesn't
// serve clients.
func mode(m *dbtest.Process) (string, error) {
	return dbtest.ZooKeeperStatus(m.Address, "Mode: ", "\n")
}
