//go:build nightly && unix

package chaos

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

func TestNightlyGalera(t *testing.T) {
	c := newMembers(t, cluster.Galera(t, 3), 12*time.Second)
	c.run(t, c.killed(), c.paused(), c.partitioned(),
		c.one("member joined again by SST", func(m *cluster.Member) error { return errors.Join(m.Kill(), m.Forget()) }, 0, (*cluster.Member).Join),
		c.alone("all killed, bootstrapped without the last commits", (*cluster.Member).Kill, (*cluster.Member).Bootstrap,
			transferred))
}

// transferred joins a killed member, which fetches all data from another one.
func transferred(m *cluster.Member) error { return errors.Join(m.Forget(), m.Join()) }

func TestNightlyGroupReplication(t *testing.T) {
	c := newMembers(t, cluster.GroupReplication(t, 3), 12*time.Second)
	c.run(t, c.killed(), c.paused(),
		c.alone("two members killed, the third forced to continue", nil, (*cluster.Member).Force, (*cluster.Member).Join))
}

// Pgpool-II sends writes to a primary, and all reads that it can to a standby, which is a
// second behind.
func TestNightlyPgpool(t *testing.T) {
	primary, process := dbtest.Killable(t, "postgres")
	standby := dbtest.StandbyOf(t, primary, "recovery_min_apply_delay = '1s'")
	db := cluster.Pgpool(t, primary, standby, "read_only_function_list = '.*'", "disable_load_balance_on_write = 'off'",
		"statement_level_load_balance = on", "backend_flag0 = 'DISALLOW_TO_FAILOVER'", "backend_flag1 = 'DISALLOW_TO_FAILOVER'")
	s := server{text: db.DSN, addresses: []string{addressOf(db)}, kill: process.Kill, start: process.Start}
	newNemesis(t, postgres, s, nightly(t, 40*time.Second, 8)).run(false)
}

// members are those of a cluster, to which a balancer without health checks spreads the
// connections.
type members struct {
	all      []*cluster.Member
	server   server
	expelled time.Duration // after it, the others go on without a member that they can't reach
}

func newMembers(t *testing.T, all []*cluster.Member, expelled time.Duration) *members {
	db, balancer := cluster.Balanced(t, all)
	return &members{all, server{text: db.DSN, addresses: []string{balancer.Address()}}, expelled}
}

func (c *members) run(t *testing.T, faults ...harm) {
	c.server.more = faults
	newNemesis(t, mysqlCluster, c.server, nightly(t, time.Minute, 8)).run(false)
}

// one harms a random member.
func (c *members) one(name string, begin func(*cluster.Member) error, lasts time.Duration, end func(*cluster.Member) error) harm {
	var m *cluster.Member
	return harm{name: name, begin: func(*network) error {
		m = c.all[rand.IntN(len(c.all))]
		return begin(m)
	}, lasts: lasts, end: func(*network) error { return end(m) }}
}

func (c *members) killed() harm {
	return c.one("member killed -9 and joined again", (*cluster.Member).Kill, 3*time.Second, (*cluster.Member).Join)
}

func (c *members) paused() harm {
	return c.one("member paused and continued", func(m *cluster.Member) error { return m.Signal(syscall.SIGSTOP) }, c.expelled,
		func(m *cluster.Member) error { return errors.Join(m.Signal(syscall.SIGCONT), m.Rejoin()) })
}

// partitioned cuts a member off from the others, but not from the processes.
func (c *members) partitioned() harm {
	return c.one("member partitioned", (*cluster.Member).Isolate, c.expelled,
		func(m *cluster.Member) error { return errors.Join(m.Reach(), m.Rejoin()) })
}

// alone kills all members but one, which continues without them. If leave is set, that one
// has left the others a while before, so it lacks their last commits. The others join it.
func (c *members) alone(name string, leave, force, join func(*cluster.Member) error) harm {
	return harm{name: name, begin: func(*network) error {
		order := rand.Perm(len(c.all))
		left := c.all[order[0]]
		if leave != nil {
			if err := leave(left); err != nil {
				return err
			}
			time.Sleep(c.expelled + 3*time.Second)
		}
		for _, i := range order[1:] {
			if err := c.all[i].Kill(); err != nil {
				return err
			}
		}
		if err := force(left); err != nil {
			return err
		}
		for _, i := range order[1:] {
			if err := join(c.all[i]); err != nil {
				return err
			}
		}
		return nil
	}}
}
