//go:build nightly && unix

package chaos

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
)

func TestNightlyGalera(t *testing.T) {
	members := cluster.Galera(t, 3)
	n := newClusterNemesis(t, members)
	n.run([]fault{
		{"member killed -9 and joined again", n.killMember},
		{"member joined again by SST", n.transfer},
		{"member paused and continued", n.pauseMember},
		{"member partitioned", n.isolate},
		{"all killed, bootstrapped without the last commits", n.bootstrap},
	})
}

func TestNightlyGroupReplication(t *testing.T) {
	members := cluster.GroupReplication(t, 3)
	n := newClusterNemesis(t, members)
	n.run([]fault{
		{"member killed -9 and joined again", n.killMember},
		{"member paused and continued", n.pauseMember},
		{"two members killed, the third forced to continue", n.force},
	})
}

func TestNightlyPartitionedGroup(t *testing.T) {
	members := cluster.SeparateGroup(t, 3)
	n := newClusterNemesis(t, members)
	n.expelled = 30 * time.Second // we measured 21 s
	n.run([]fault{
		{"member partitioned", n.isolate},
		{"member partitioned, the others killed, forced to continue without the last commits", n.forceStale},
	})
}

// A clusterNemesis does harm to a fleet, and to the members of a cluster, to which a
// balancer without health checks spreads the connections.
type clusterNemesis struct {
	*nemesis
	members []*cluster.Member
	// expelled is a time after which the others go on without a member that they can't reach.
	expelled time.Duration

	allStall, allAhead time.Duration // the maximum of all faults
}

func newClusterNemesis(t *testing.T, members []*cluster.Member) *clusterNemesis {
	s := readSettings(t, time.Minute, 8)
	db, balancer := cluster.Balanced(t, members)
	cluster := server{
		text: db.DSN, addresses: []string{balancer.Address()},
		dump: func(ctx context.Context, w io.Writer) error { return writeTables(ctx, w, db) },
	}
	n := &clusterNemesis{nemesis: newNemesis(t, mysqlCluster, cluster, s), members: members, expelled: 12 * time.Second}
	return n
}

// run makes each fault of the cluster happen once, and faults of the processes and the
// network in between, until the time is over.
func (n *clusterNemesis) run(ofCluster []fault) {
	n.startAll()
	others := []fault{
		{"processes killed -9", n.killSome},
		{"processes closed", n.closeSome},
		{"processes stopped beyond TTL", n.stopSome},
		{"clocks 3 h ahead, and right again", n.setClocks(3 * time.Hour)},
		{"replies lost, requests late", n.badNetwork},
	}
	calm := time.Now() // first without faults
	time.Sleep(n.length / 4)
	n.figures("no faults", calm)
	n.allStall, n.allAhead = 0, 0
	harm, end := time.Now(), time.Now().Add(n.length)
	for i := 0; time.Now().Before(end) || i < len(ofCluster); i++ {
		for _, f := range []fault{ofCluster[i%len(ofCluster)], others[i%len(others)]} {
			began := time.Now()
			n.strike(f)
			n.figures("  "+f.name, began)
		}
	}
	n.stall, n.ahead = n.allStall, n.allAhead
	n.figures("all faults", harm)
	n.finish()
}

// figures logs how many fences were raised since a time, and the longest stall since the
// last call.
func (n *clusterNemesis) figures(name string, since time.Time) {
	fences := 0
	for _, p := range n.all {
		for line := range strings.Lines(p.logged()) {
			at, err := time.Parse(time.RFC3339, strings.TrimPrefix(strings.Fields(line + " -")[0], "time="))
			if err == nil && at.After(since) && strings.Contains(line, "replaced or restored") {
				fences++
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Logf("%s: %d requests for a fence in %v, longest stall %v, ids at most %v ahead of time",
		name, fences, time.Since(since).Round(time.Second), n.stall.Round(time.Millisecond), n.ahead.Round(time.Millisecond))
	n.allStall, n.allAhead = max(n.allStall, n.stall), max(n.allAhead, n.ahead)
	n.stall, n.ahead = 0, 0
}

func (n *clusterNemesis) one() *cluster.Member { return n.members[rand.IntN(len(n.members))] }

func (n *clusterNemesis) killMember() (time.Time, []*process) {
	m := n.one()
	n.must(m.Kill())
	time.Sleep(3 * time.Second)
	n.must(m.Join())
	return time.Now(), n.crew
}

func (n *clusterNemesis) transfer() (time.Time, []*process) {
	m := n.one()
	n.must(m.Kill())
	n.must(m.Forget())
	n.must(m.Join())
	return time.Now(), n.crew
}

// pauseMember pauses a member until the others go on without it.
func (n *clusterNemesis) pauseMember() (time.Time, []*process) {
	m := n.one()
	n.must(m.Signal(syscall.SIGSTOP))
	time.Sleep(12 * time.Second)
	n.must(m.Signal(syscall.SIGCONT))
	n.must(m.Rejoin())
	return time.Now(), n.crew
}

// force kills two of three members, and lets the third continue without them.
func (n *clusterNemesis) force() (time.Time, []*process) {
	order := rand.Perm(len(n.members))
	left := n.members[order[0]]
	for _, i := range order[1:] {
		n.must(n.members[i].Kill())
	}
	n.must(left.Force())
	over := time.Now()
	for _, i := range order[1:] {
		n.must(n.members[i].Join())
	}
	return over, n.crew
}

// isolate cuts a member off from the others, but not from the processes, until the others go
// on without it.
func (n *clusterNemesis) isolate() (time.Time, []*process) {
	m := n.one()
	n.must(m.Isolate())
	time.Sleep(n.expelled)
	n.must(m.Reach())
	n.must(m.Rejoin())
	return time.Now(), n.crew
}

// forceStale lets a member continue alone that was cut off and lacks the last commits of the
// others, which are killed.
func (n *clusterNemesis) forceStale() (time.Time, []*process) {
	order := rand.Perm(len(n.members))
	stale := n.members[order[0]]
	n.must(stale.Isolate())
	time.Sleep(n.expelled)
	time.Sleep(3 * time.Second)
	for _, i := range order[1:] {
		n.must(n.members[i].Kill())
	}
	n.must(stale.Force())
	over := time.Now()
	n.must(stale.Reach())
	for _, i := range order[1:] {
		n.must(n.members[i].Clone(stale))
	}
	return over, n.crew
}

// bootstrap loses commits that the processes were told of: a member misses some, all
// others are killed, and the cluster continues from that member.
func (n *clusterNemesis) bootstrap() (time.Time, []*process) {
	order := rand.Perm(len(n.members))
	stale := n.members[order[0]]
	n.must(stale.Kill())
	time.Sleep(3 * time.Second)
	for _, i := range order[1:] {
		n.must(n.members[i].Kill())
	}
	n.must(stale.Bootstrap())
	for _, i := range order[1:] {
		n.must(n.members[i].Forget())
		n.must(n.members[i].Join())
	}
	return time.Now(), n.crew
}
