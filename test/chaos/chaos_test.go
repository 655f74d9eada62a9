//go:build unix

package chaos

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/keeper"
)

func TestMain(m *testing.M) {
	if os.Getenv(ordersEnv) != "" {
		Work()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestChaos lets a few faults happen on Postgres and MySQL, or with -short at night on all
// stores. TestNightlyChaos has all faults and stores.
func TestChaos(t *testing.T) {
	if dbtest.Nightly && !testing.Short() {
		t.Skip("TestNightlyChaos includes this")
	}
	for _, b := range wantedBackends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			n := newNemesis(t, b, b.start(t), settings{processes: 4, rate: 50_000})
			check := n.backfill()
			n.startAll()
			for _, f := range []fault{{"much at once", n.everything}, {"clocks 3 h ahead, and right again", n.setClocks(3 * time.Hour)}, {"processes closed", n.closeSome}} {
				n.strike(f)
			}
			check()
			n.finish()
		})
	}
}

// wantedBackends returns the backends that this run must cover.
func wantedBackends(t *testing.T) (wanted []backend) {
	for _, b := range backends {
		if dbtest.Wants(t, b.name) {
			wanted = append(wanted, b)
		}
	}
	if len(wanted) == 0 {
		t.Skip("no server in this run")
	}
	return wanted
}

// settings are the settings of a run.
type settings struct {
	length    time.Duration // how long to run; 0 means that every fault happens once
	processes int
	rate      int
}

func newFleet(t *testing.T, b backend, s server, rate int) *fleet {
	parent := os.Getenv("SNOWKEY_CHAOS_KEEP") // "" for the system's temporary files
	dir := dbtest.Must(os.MkdirTemp(parent, "snowkey-chaos-"))(t)
	f := &fleet{t: t, backend: b, server: s, dir: dir, check: newChecker(), orders: Orders{
		Backend: b.name, Store: s.text, Rate: rate,
		Window: time.Second, TTL: 1500 * time.Millisecond, Skew: time.Second,
	}}
	t.Cleanup(func() {
		for _, p := range f.all {
			p.kill()
		}
		if !t.Failed() {
			dbtest.NoError(t, os.RemoveAll(f.dir))
			return
		}
		t.Log("the evidence is in ", f.dir)
		f.save()
	})
	return f
}

// A nemesis does harm to a fleet and its server.
type nemesis struct {
	*testing.T
	settings
	*fleet
	network *network
	crew    []*process // one process for each worker number
	began   time.Time
	worst   map[string]time.Duration // by fault, the longest time until ids flowed again
	struck  map[string]int
}

func newNemesis(t *testing.T, b backend, server server, s settings) *nemesis {
	f := newFleet(t, b, server, s.rate)
	n := &nemesis{T: t, settings: s, fleet: f, began: time.Now(), worst: map[string]time.Duration{}, struck: map[string]int{}}
	n.network = newNetwork(t, server.addresses)
	for i, p := range n.network.proxies {
		n.orders.Store = strings.Replace(n.orders.Store, server.addresses[i], p.Address(), 1)
	}
	n.orders.MaxWorker = int64(s.processes) - 1
	return n
}

// A fault does its harm and then undoes it. It returns the time at which it was undone,
// and the processes that must recover from it.
type fault struct {
	name string
	do   func() (over time.Time, who []*process)
}

// strike makes a fault happen, and waits until ids flow again.
func (n *nemesis) strike(f fault) {
	n.Helper()
	over, who := f.do()
	if n.Failed() {
		n.FailNow()
	}
	n.await(f.name, over, who)
}

// await waits until all of the given processes have drawn ids under a grant that they
// received, or that was extended, after a time. How long that takes depends on the machine,
// so there is no limit that a slow one could exceed.
func (n *nemesis) await(name string, over time.Time, who []*process) {
	n.Helper()
	var flow time.Duration
	for _, p := range who {
		for {
			ok, at := p.recovered(over)
			if ok {
				flow = max(flow, at.Sub(over))
				break
			}
			if time.Since(over) > patience {
				n.Errorf("%s: %s has not recovered after %v", name, p.label, time.Since(over))
				n.FailNow()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	n.worst[name] = max(n.worst[name], flow)
	n.struck[name]++
	n.Logf("%s %-40s ids again after %6.3fs, all renewed after %6.3fs (%d processes)",
		time.Now().Format("15:04:05.000000"), name, flow.Seconds(), time.Since(over).Seconds(), len(who))
}

// startAll starts the crew. On a busy machine, leases of a second may expire before they are
// renewed, so that every fault would look the same. startAll therefore doubles Window until
// all leases are renewed several times while nothing happens.
func (n *nemesis) startAll() {
	n.Helper()
	for {
		start := time.Now()
		n.crew = nil
		for range n.processes {
			n.crew = append(n.crew, n.start(nil))
		}
		n.await("all started", start, n.crew)
		for range 3 {
			n.await("  renewed", time.Now(), n.crew)
		}
		lost := 0
		for _, p := range n.crew {
			lost += strings.Count(p.logged(), "lost the worker number")
		}
		if lost == 0 || n.orders.Window >= 16*time.Second {
			return
		}
		n.Logf("%d leases were lost without a fault; Window %v is too short for this machine", lost, n.orders.Window)
		for _, p := range n.crew {
			p.kill()
		}
		n.orders.Window, n.orders.TTL = 2*n.orders.Window, 2*n.orders.TTL
	}
}

// backfill reserves a worker number beside those of the crew. The function that it returns
// repeats the backfill after the faults, with ids for each tick of the run. It is left out
// where faults lose a reservation, or with it so much time that no tick is left.
func (n *nemesis) backfill() (check func()) {
	n.Helper()
	if n.orders.Days || n.fleet.backend.volatile || n.fleet.backend.fencesOften {
		return func() {}
	}
	n.orders.MaxWorker++
	store := dbtest.Must(n.fleet.backend.open(n.server.text, time.Now))(n)
	layout, bits := n.orders.layout()
	reserve := func() *idgen.Backfill {
		n.Helper()
		ctx, cancel := context.WithTimeout(n.Context(), patience)
		defer cancel()
		cfg := n.orders.config(time.Now, slog.New(slog.DiscardHandler))
		worker, bound, err := keeper.ReserveBackfill(ctx, store, cfg, "rows")
		dbtest.NoError(n, err)
		end := layout.Epoch().Add(time.Duration(bound>>bits) * layout.Unit())
		return dbtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Layout: layout, Worker: worker, End: end}))(n)
	}
	first := reserve().Config().Worker
	return func() {
		n.Helper()
		until := time.Now() // from here on, processes may use the number after its lease
		b := reserve()
		if worker := b.Config().Worker; worker != first {
			n.Errorf("the backfill has worker number %d, and had %d", worker, first)
		}
		for at := n.began; at.Before(until); at = at.Add(layout.Unit()) {
			ids := dbtest.Must(b.At("rows", slices.Repeat([]time.Time{at}, 20)))(n)
			dbtest.NoError(n, n.check.add(run{grant{process: "backfill"}, ids[0], ids[len(ids)-1]}))
		}
	}
}

// some returns random places in the crew, a third of them in total.
func (n *nemesis) some() []int { return rand.Perm(n.processes)[:max(n.processes/3, 1)] }

func (n *nemesis) at(places []int) (who []*process) {
	for _, i := range places {
		who = append(who, n.crew[i])
	}
	return who
}

// replace starts new processes in the given places.
func (n *nemesis) replace(places []int, change func(*Orders)) []*process {
	for _, i := range places {
		n.crew[i] = n.start(change)
	}
	return n.at(places)
}

func (n *nemesis) closeSome() (time.Time, []*process) {
	places := n.some()
	n.closeAll(n.at(places))
	return time.Now(), n.replace(places, nil)
}

func (n *nemesis) closeAll(who []*process) {
	var wait sync.WaitGroup
	for _, p := range who {
		wait.Go(func() {
			if err := p.close(); err != nil {
				n.Errorf("%v", err)
			}
		})
	}
	wait.Wait()
}

func (n *nemesis) signal(who []*process, s syscall.Signal) {
	for _, p := range who {
		dbtest.NoError(n, p.cmd.Process.Signal(s))
	}
}

// setClocks lets the clocks of some hosts jump. While these are wrong, ids must continue.
func (n *nemesis) setClocks(ahead time.Duration) func() (time.Time, []*process) {
	return func() (time.Time, []*process) {
		who := n.at(n.some())
		set := func(ahead time.Duration) {
			for _, p := range who {
				dbtest.NoError(n, p.command("clock "+ahead.String(), p.answered))
			}
		}
		set(ahead)
		n.await("  while they are wrong", time.Now(), who)
		set(0)
		return time.Now(), who
	}
}

// everything happens at once: the server and a third of the processes are killed,
// another third is stopped for longer than TTL, and the network is bad.
func (n *nemesis) everything() (time.Time, []*process) {
	places := rand.Perm(n.processes)
	third := n.processes / 3
	killed, stopped := places[:third], n.at(places[third:2*third])
	n.network.worsen(20, n.orders.Window/3)
	n.signal(stopped, syscall.SIGSTOP)
	for _, p := range n.at(killed) {
		p.kill()
	}
	n.replace(killed, nil)
	time.Sleep(n.orders.TTL)
	dbtest.NoError(n, n.server.kill())
	n.signal(stopped, syscall.SIGCONT)
	dbtest.NoError(n, n.server.start())
	n.network.worsen(0, 0)
	return time.Now(), n.crew
}

// finish closes all processes and decides whether the test has failed.
func (n *nemesis) finish() {
	n.closeAll(n.crew)
	duplicates, ids, leases := n.check.check()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range slices.Concat(duplicates[:min(len(duplicates), 20)], n.bad) {
		n.Errorf("%s", text)
	}
	n.Logf("%d ids in %.0f s under %d leases of %d processes, %d runs with duplicates",
		ids, time.Since(n.began).Seconds(), leases, len(n.all), len(duplicates))
}
