//go:build nightly && unix

package chaos

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyChaos lets all faults happen for SNOWKEY_CHAOS on each store of the run, or
// each fault once if that is 0.
func TestNightlyChaos(t *testing.T) {
	s := nightly(t, time.Minute, 32)
	for _, b := range wantedBackends(t) {
		t.Run(b.name, func(t *testing.T) { newNemesis(t, b, b.start(t), s).run(false) })
		if !b.volatile && !b.fencesOften {
			t.Run("days on "+b.name, func(t *testing.T) { newNemesis(t, b, b.start(t), s).run(true) })
		}
	}
}

// nightly returns settings, with the length of SNOWKEY_CHAOS if that is set.
func nightly(t *testing.T, length time.Duration, processes int) settings {
	if text := os.Getenv("SNOWKEY_CHAOS"); text != "" {
		length = dbtest.Must(time.ParseDuration(text))(t)
	}
	return settings{length, processes, 150_000} // half of two cores, since the database and the network need their share
}

// run lets each fault happen, in random order, until the time is over.
func (n *nemesis) run(days bool) {
	n.orders.Days = days
	check := n.backfill()
	n.startAll()
	faults := n.faults()
	for end := time.Now().Add(n.length); !n.Failed(); {
		for _, i := range rand.Perm(len(faults)) {
			n.strike(faults[i])
		}
		if time.Now().After(end) {
			break
		}
	}
	check()
	n.finish()
	for _, name := range slices.Sorted(maps.Keys(n.worst)) {
		n.Logf("%-40s %3d times, ids again after %6.3fs at the latest", strings.TrimSpace(name), n.struck[name], n.worst[name].Seconds())
	}
}

func (n *nemesis) faults() []fault {
	all := []fault{
		{"processes killed -9", n.killSome},
		{"processes closed", n.closeSome},
		{"restarted with the clock 0.7 s back", n.restartInThePast},
		{"processes stopped beyond TTL", n.stopSome},
		{"all workers taken", n.takeAll},
		{"clocks 3 h ahead, and right again", n.setClocks(3 * time.Hour)},
		{"clocks 3 h back, and right again", n.setClocks(-3 * time.Hour)},
		{"network cut for longer than the bound", n.cut},
		{"replies lost, requests late", n.badNetwork},
	}
	if n.server.kill != nil {
		all = append(all, fault{"server killed -9", n.killServer}, fault{"much of this at once", n.everything})
	}
	if n.server.setClock != nil {
		all = append(all,
			fault{"server's clock 1 h ahead, and right again", n.setServerClock(time.Hour)},
			fault{"server's clock 1 h back, and right again", n.setServerClock(-time.Hour)})
	}
	if n.server.stop != nil {
		all = append(all, fault{"server stopped for longer than the bound", n.stopServer})
	}
	for _, h := range n.server.more {
		all = append(all, fault{h.name, func() (time.Time, []*process) { return n.harm(h) }})
	}
	return all
}

// harm does what only this backend can suffer.
func (n *nemesis) harm(h harm) (time.Time, []*process) {
	dbtest.NoError(n, h.begin(n.network))
	time.Sleep(h.lasts)
	if h.end != nil {
		dbtest.NoError(n, h.end(n.network))
	}
	if h.newClients {
		for i, p := range n.crew {
			p.kill()
			n.replace([]int{i}, nil)
		}
	}
	return time.Now(), n.crew
}

func (n *nemesis) stopServer() (time.Time, []*process) {
	dbtest.NoError(n, n.server.stop())
	time.Sleep(n.orders.Window + n.orders.Skew + 700*time.Millisecond)
	dbtest.NoError(n, n.server.resume())
	return time.Now(), n.crew
}

func (n *nemesis) killSome() (time.Time, []*process) {
	places := n.some()
	for _, p := range n.at(places) {
		p.kill()
	}
	return time.Now(), n.replace(places, nil)
}

// restartInThePast also checks that a process is refused if its clock is far off.
func (n *nemesis) restartInThePast() (time.Time, []*process) {
	places := n.some()
	n.closeAll(n.at(places))
	for _, clock := range []time.Duration{-time.Hour, time.Hour} {
		p := n.start(func(o *Orders) { o.Clock = clock })
		<-p.done
		if status := p.cmd.ProcessState.ExitCode(); status != statusClock {
			n.Errorf("a process whose clock was %v ahead ended with status %d, want a refusal", clock, status)
		}
	}
	over := time.Now()
	return over, n.replace(places, func(o *Orders) { o.Clock = -700 * time.Millisecond })
}

// stopSome stops processes until others have taken over their worker numbers. The new
// holders continue for a while, and so do the processes that wake up, but only until they
// reach their bound.
func (n *nemesis) stopSome() (time.Time, []*process) {
	who := n.at(n.some())
	stopped := time.Now()
	n.signal(who, syscall.SIGSTOP)
	var heirs []*process
	for range who {
		heirs = append(heirs, n.start(nil))
	}
	n.await("  their workers taken over", stopped, heirs)
	n.signal(who, syscall.SIGCONT)
	time.Sleep(300 * time.Millisecond)
	n.closeAll(heirs)
	return time.Now(), who
}

// takeAll starts more processes than there are worker numbers. These have to wait until
// others are killed.
func (n *nemesis) takeAll() (time.Time, []*process) {
	places := n.some()
	var queue []*process
	for range places {
		queue = append(queue, n.start(nil))
	}
	time.Sleep(n.orders.TTL + n.orders.TTL/3)
	for i, place := range places {
		n.crew[place].kill()
		n.crew[place] = queue[i]
	}
	return time.Now(), n.crew
}

// setServerClock makes the server's clock jump. If it jumps ahead, all leases have
// expired, and a process with a new lease issues ids from its bound, which may be a
// window ahead. A store that may lose commits grants no new lease then. If the clock jumps
// back, nothing is granted, but ids can still be issued up to the bounds.
func (n *nemesis) setServerClock(ahead time.Duration) func() (time.Time, []*process) {
	return func() (time.Time, []*process) {
		dbtest.NoError(n, n.server.setClock(ahead))
		if ahead > 0 && !n.backend.volatile {
			n.await("  while it is wrong", time.Now(), n.crew)
		} else {
			time.Sleep(n.orders.Window)
		}
		dbtest.NoError(n, n.server.setClock(0))
		return time.Now(), n.crew
	}
}

// cut checks that all processes stop to draw ids while the store is away. With ticks of
// days, a block of numbers lasts longer.
func (n *nemesis) cut() (time.Time, []*process) {
	n.network.cut()
	began := time.Now()
	quiet := func(p *process) bool { return !p.drewSince(time.Now().Add(-time.Second)) }
	for time.Sleep(n.orders.Window); !n.orders.Days && slices.ContainsFunc(n.crew, func(p *process) bool { return !quiet(p) }); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > patience {
			n.Errorf("processes draw ids although the store has been away for %v", patience)
			break
		}
	}
	n.network.heal()
	return time.Now(), n.crew
}

func (n *nemesis) badNetwork() (time.Time, []*process) {
	n.network.worsen(20, n.orders.Window/3) // a request times out after a quarter of the window
	time.Sleep(3 * time.Second)
	n.network.worsen(0, 0)
	return time.Now(), n.crew
}

// killServer kills the server, sometimes for longer than the bound.
func (n *nemesis) killServer() (time.Time, []*process) {
	dbtest.NoError(n, n.server.kill())
	time.Sleep(rand.N(2 * (n.orders.Window + n.orders.Skew)))
	dbtest.NoError(n, n.server.start())
	return time.Now(), n.crew
}

// Without using the store, two processes claim the same worker number one after the other.
// With ticks of days, they issue the same ids. The checker must find them, although the first
// process was killed, and the evidence must show them.
func TestNightlyDuplicatesAreFound(t *testing.T) {
	b := postgres // durable, because a claim doesn't grant any ids if the server may forget a commit
	f := newFleet(t, b, b.start(t), 200_000)
	f.orders.MinWorker, f.orders.MaxWorker, f.orders.Thief, f.orders.Days = 1, 1, true, true
	first := f.start(nil)
	dbtest.Await(t, "more ids than those among which a process begins at random", func() bool {
		_, ids, _ := f.check.check()
		return ids > 100_000
	})
	first.kill()
	f.start(nil)
	dbtest.Await(t, "duplicates, because two processes draw the same ids", func() bool {
		duplicates, _, _ := f.check.check()
		return len(duplicates) > 0
	})
	f.save()
	for name, want := range map[string]string{"process 1.log": " grant 1: worker 1, ", "runs.txt": "duplicate ids from ", "rows.txt": "Token:"} {
		if text, err := os.ReadFile(filepath.Join(f.dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not contain %q: %v\n%.2000s", name, want, err, text)
		}
	}
}
