//go:build unix

package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(ordersEnv) != "" {
		Work()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// settings are the settings of a run.
type settings struct {
	length    time.Duration // how long to run; 0 means that every fault happens once
	processes int
	rate      int
}

func readSettings(t *testing.T) settings {
	s := settings{processes: 5, rate: 100_000}
	var err error
	if text := os.Getenv("SNOWKEY_CHAOS"); text != "" {
		if s.length, err = time.ParseDuration(text); err != nil {
			t.Fatal("SNOWKEY_CHAOS:", err)
		}
		s.processes, s.rate = 32, 150_000 // half of two cores, since the database and the network need their share
	}
	number := func(n *int, name string) {
		if text := os.Getenv(name); text != "" {
			if *n, err = strconv.Atoi(text); err != nil {
				t.Fatal(name+":", err)
			}
		}
	}
	number(&s.processes, "SNOWKEY_CHAOS_PROCS")
	number(&s.rate, "SNOWKEY_CHAOS_RATE")
	s.processes = max(s.processes, 4)
	return s
}

func TestChaos(t *testing.T) {
	s := readSettings(t)
	run := func(name string, b backend, days bool) {
		t.Run(name, func(t *testing.T) {
			if s.length == 0 {
				t.Parallel()
			}
			n := newNemesis(t, b, s)
			n.setDays(days)
			n.startAll()
			faults := n.faults()
			if s.length == 0 {
				for _, f := range faults {
					n.strike(f)
				}
			} else {
				for end := time.Now().Add(s.length); time.Now().Before(end) && !t.Failed(); {
					for _, i := range rand.Perm(len(faults)) {
						n.strike(faults[i])
					}
				}
			}
			n.finish()
		})
	}
	days := 0
	for _, b := range wantedBackends(t) {
		run(b.name, b, false)
		if reason := b.lacks[faultDays]; reason != "" {
			t.Logf("%s is not tested with %s, because %s", b.name, faultDays, reason)
		} else if s.length > 0 || days == 0 {
			run("days on "+b.name, b, true)
			days++
		}
	}
}

// wantedBackends returns the backends that this run must cover.
func wantedBackends(t *testing.T) []backend {
	wanted := slices.DeleteFunc(slices.Clone(backends), func(b backend) bool { return !dbtest.Wants(t, b.name) })
	if len(wanted) == 0 {
		t.Skip("no server in this run")
	}
	return wanted
}

// checkServer fails if a backend lacks a fault without a reason, so that none gets lost by
// accident.
func checkServer(t *testing.T, b backend, s server) {
	t.Helper()
	lacks := map[string]bool{
		faultStop: s.stop == nil || s.resume == nil, faultClock: s.setClock == nil,
		faultDays: b.volatile || b.fencesOften,
	}
	for fault := range lacks {
		if given := b.lacks[fault] != ""; given != lacks[fault] {
			t.Errorf("%s: the backend lacks it: %v; a reason is given: %v", fault, lacks[fault], given)
		}
	}
	for fault := range b.lacks {
		if _, known := lacks[fault]; !known {
			t.Errorf("%q is not a fault", fault)
		}
	}
	for _, address := range s.addresses {
		if strings.Count(s.text, address) != 1 {
			t.Errorf("the text does not contain the address %s once", address)
		}
	}
	if len(s.addresses) == 0 || s.kill == nil || s.start == nil || s.dump == nil {
		t.Fatal("the server lacks a function that every test needs")
	}
}

// Without using the store, two processes claim the same worker number, so they issue
// the same ids.
func TestDuplicatesOfTwoProcessesAreFound(t *testing.T) {
	f := newThieves(t, false)
	for range 2 {
		f.launch(t)
	}
	f.awaitDuplicates(t)

	// A failed test keeps this evidence.
	f.stopAndSave(t)
	row := "snowkey_lease "
	if f.orders.Backend == "zookeeper" {
		row = "/snowkey/namespaces/default/"
	}
	for name, want := range map[string]string{
		"process 1.log":  "time=",
		"process 2.runs": " grant 1: worker 1, ",
		"tables.txt":     row,
		"duplicates.txt": "duplicate ids of worker 1",
	} {
		text, err := os.ReadFile(filepath.Join(f.dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not contain %q: %v\n%.2000s", name, want, err, text)
		}
	}
}

// The first process is killed before the second one starts, so only what it had
// reported until then can be checked.
func TestDuplicatesOfAKilledProcessAreFound(t *testing.T) {
	// With a layout of days, the second process issues the same ids as the first, even
	// though time has passed in between.
	f := newThieves(t, true)
	p, began := f.launch(t), time.Now()
	for !p.drewSince(began) {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the process draws no ids")
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.kill()
	_, totals, err := f.check.Check()
	if err != nil || totals.IDs == 0 {
		t.Fatalf("%d ids are left of a process that was killed after it had drawn some: %v", totals.IDs, err)
	}
	f.launch(t)
	f.awaitDuplicates(t)
}

type thieves struct{ *fleet }

func newThieves(t *testing.T, days bool) thieves {
	// This must be durable, because a claim doesn't grant any ids if the server may
	// forget a commit.
	b := durableBackend(t)
	f := newFleet(t, b, b.start(t), 200_000)
	f.orders.MinWorker, f.orders.MaxWorker = 1, 1
	f.orders.Thief = true
	f.setDays(days)
	return thieves{f}
}

func (f thieves) launch(t *testing.T) *process {
	t.Helper()
	p, err := f.start(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f thieves) awaitDuplicates(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		found, totals, err := f.check.Check()
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			t.Logf("found among %d ids: %v", totals.IDs, found[0])
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("two processes draw the same ids, and the checker finds no duplicate among %d", totals.IDs)
		}
	}
}

func durableBackend(t *testing.T) backend {
	for _, b := range wantedBackends(t) {
		if !b.volatile {
			return b
		}
	}
	t.Skip("no durable store in this run")
	return backend{}
}

func newFleet(t *testing.T, b backend, s server, rate int) *fleet {
	dir, err := newEvidence(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{server: s, dir: dir, notes: map[string]int{}, orders: Orders{
		Backend: b.name, Store: s.text, Rate: rate,
		Window: time.Second, TTL: 1500 * time.Millisecond, Skew: time.Second,
	}}
	f.setDays(false)
	t.Cleanup(func() { f.end(t) })
	return f
}

// setDays sets the layout. It must be called before any process is started.
func (f *fleet) setDays(days bool) {
	f.orders.Days = days
	f.check = NewChecker(f.dir, f.orders.layout())
}

// end kills the processes, and keeps the evidence if the test has failed.
func (f *fleet) end(t *testing.T) {
	if t.Failed() {
		f.stopAndSave(t)
		t.Log("the evidence is in ", f.dir)
		return
	}
	f.killAll()
	if err := os.RemoveAll(f.dir); err != nil {
		t.Error(err)
	}
}

// stopAndSave saves the current tables and everything that the processes have reported.
func (f *fleet) stopAndSave(t *testing.T) {
	if err := f.saveTables(); err != nil {
		t.Error(err)
	}
	f.killAll()
	if err := f.saveDuplicates(); err != nil {
		t.Error(err)
	}
}

func (f *fleet) killAll() {
	for _, p := range f.all {
		p.kill()
	}
}

// A nemesis does harm to a fleet and its server.
type nemesis struct {
	*testing.T
	settings
	*fleet
	backend backend
	network network
	record  *os.File   // test.log
	crew    []*process // one process for each worker number
	calm    time.Time  // from then on, bounds are no further ahead than they should be
	began   time.Time
	gauge   *gauge                   // nil in a short run, which has no limits of time
	lenient bool                     // whether it's no error if ids take long to flow again
	worst   map[string]time.Duration // by fault, the longest time until ids flowed again
	struck  map[string]int
}

func newNemesis(t *testing.T, b backend, s settings) *nemesis {
	server := b.start(t)
	checkServer(t, b, server)
	return newNemesisOf(t, b, server, s)
}

func newNemesisOf(t *testing.T, b backend, server server, s settings) *nemesis {
	f := newFleet(t, b, server, s.rate)
	n := &nemesis{T: t, settings: s, fleet: f, backend: b, began: time.Now(),
		worst: map[string]time.Duration{}, struck: map[string]int{}}
	if s.length > 0 {
		n.gauge = startGauge()
		t.Cleanup(n.gauge.stop)
	}
	for _, address := range server.addresses {
		p, err := newProxy(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.close)
		n.network = append(n.network, p)
		n.orders.Store = strings.Replace(n.orders.Store, address, p.addr(), 1)
	}
	var err error
	n.orders.MaxWorker = int64(s.processes) - 1
	if n.record, err = os.Create(filepath.Join(f.dir, "test.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.record.Close() })
	return n
}

// Logf and Errorf write to the evidence as well.
func (n *nemesis) Logf(format string, args ...any) {
	n.Helper()
	n.T.Logf(format, args...)
	n.write(format, args...)
}

func (n *nemesis) Errorf(format string, args ...any) {
	n.Helper()
	n.T.Errorf(format, args...)
	n.write("FAILED: "+format, args...)
}

func (n *nemesis) write(format string, args ...any) {
	fmt.Fprintf(n.record, time.Now().Format("15:04:05.000000 ")+format+"\n", args...)
}

// A fault does its harm and then undoes it. It returns the time at which it was undone,
// and the processes that must recover from it.
type fault struct {
	name string
	do   func() (over time.Time, who []*process)
}

func (n *nemesis) faults() []fault {
	all := []fault{
		{"processes killed -9", n.killSome},
		{"processes closed", n.closeSome},
		{"restarted with the clock 0.7 s back", n.restartInThePast},
		{"processes stopped beyond TTL", n.stopSome},
		{"all workers taken", n.takeAll},
		{"clocks 3 h ahead, and right again", func() (time.Time, []*process) { return n.setClocks(3 * time.Hour) }},
		{"clocks 3 h back, and right again", func() (time.Time, []*process) { return n.setClocks(-3 * time.Hour) }},
		{"network cut for longer than the bound", n.cut},
		{"replies lost, requests late", n.badNetwork},
		{"server killed -9", n.killServer},
		{"much of this at once", n.everything},
	}
	if n.server.setClock != nil {
		all = append(all,
			fault{"server's clock 1 h ahead, and right again", func() (time.Time, []*process) { return n.setServerClock(time.Hour) }},
			fault{"server's clock 1 h back, and right again", func() (time.Time, []*process) { return n.setServerClock(-time.Hour) }})
	}
	if n.server.stop != nil {
		all = append(all, fault{faultStop, n.stopServer})
	}
	for _, h := range n.server.more {
		all = append(all, fault{h.name, func() (time.Time, []*process) { return n.harm(h) }})
	}
	for _, name := range slices.Sorted(maps.Keys(n.backend.lacks)) {
		n.Logf("left out: %s, because %s", name, n.backend.lacks[name])
	}
	return all
}

// harm does what only this backend can suffer.
func (n *nemesis) harm(h harm) (time.Time, []*process) {
	if err := h.begin(n.network); err != nil {
		n.Fatal(err)
	}
	time.Sleep(h.lasts)
	if h.end != nil {
		if err := h.end(n.network); err != nil {
			n.Fatal(err)
		}
	}
	return time.Now(), n.crew
}

func (n *nemesis) stopServer() (time.Time, []*process) {
	if err := n.server.stop(); err != nil {
		n.Fatal(err)
	}
	time.Sleep(n.orders.Window + n.orders.Skew + 700*time.Millisecond)
	if err := n.server.resume(); err != nil {
		n.Fatal(err)
	}
	return time.Now(), n.crew
}

// strike makes a fault happen, and checks that ids flow again soon enough afterwards.
func (n *nemesis) strike(f fault) {
	n.Helper()
	start := time.Now()
	over, who := f.do()
	if n.Failed() {
		n.tellLogs()
		n.FailNow()
	}
	n.await(f.name, over.Sub(start), over, who)
}

// await waits until all of the given processes have drawn ids under a new grant.
func (n *nemesis) await(name string, lasted time.Duration, over time.Time, who []*process) {
	n.Helper()
	var flow, renewed time.Duration
	for _, p := range who {
		for {
			ok, at := p.recovered(over)
			if ok {
				flow = max(flow, at.Sub(over))
				break
			}
			if time.Since(over) > 3*time.Minute { // not a bar, which is below
				n.Errorf("%s: %s has not recovered after %v", name, p.label, time.Since(over))
				n.tellLogs()
				n.tellLog(p)
				n.FailNow()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	renewed = time.Since(over)
	n.worst[name] = max(n.worst[name], flow)
	n.struck[name]++
	n.Logf("%6.1fs %-40s %5.1fs  ids again after %6.3fs  all renewed after %6.3fs  (%d processes)",
		time.Since(n.began).Seconds(), name, lasted.Seconds(), flow.Seconds(), renewed.Seconds(), len(who))
	busy := n.gauge.since(over)
	allowed := time.Duration(busy * float64(n.orders.TTL+2*time.Second+n.holdOff()))
	if flow > allowed {
		// A short run shares the processor with all other tests, so we can't expect it
		// to be on time.
		report := n.Logf
		if n.length > 0 && !n.lenient {
			report = n.Errorf
		}
		report("%s: ids flowed again after %v; allowed are %v, on a machine %.1f times as slow as at rest", name, flow, allowed, busy)
		n.tellLogs()
	}
}

// holdOff returns how long a process that has claimed a worker number waits before it
// issues ids.
func (n *nemesis) holdOff() time.Duration {
	if !n.backend.volatile {
		return 0
	}
	return n.orders.Window + 2*n.orders.Skew
}

// launch starts a process.
func (n *nemesis) launch(change func(*Orders)) *process {
	n.Helper()
	p, err := n.start(change)
	if err != nil {
		n.Fatal(err)
	}
	return p
}

func (n *nemesis) startAll() {
	n.Helper()
	start := time.Now()
	for range n.processes {
		n.crew = append(n.crew, n.launch(nil))
	}
	n.await("all started on an empty store", 0, start, n.crew)
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
		n.crew[i] = n.launch(change)
	}
	return n.at(places)
}

func (n *nemesis) killSome() (time.Time, []*process) {
	places := n.some()
	for _, p := range n.at(places) {
		p.kill()
	}
	return time.Now(), n.replace(places, nil)
}

func (n *nemesis) closeSome() (time.Time, []*process) {
	places := n.some()
	n.closeAll(n.at(places))
	return time.Now(), n.replace(places, nil)
}

func (n *nemesis) closeAll(who []*process) {
	errs := make(chan error)
	for _, p := range who {
		go func() { errs <- p.close() }()
	}
	for range who {
		if err := <-errs; err != nil {
			n.Errorf("%v", err)
		}
	}
}

// restartInThePast also checks that a process is refused if its clock is far off.
func (n *nemesis) restartInThePast() (time.Time, []*process) {
	places := n.some()
	n.closeAll(n.at(places))
	for _, clock := range []time.Duration{-time.Hour, time.Hour} {
		p := n.launch(func(o *Orders) { o.Clock = clock })
		<-p.done
		if status := p.cmd.ProcessState.ExitCode(); status != statusClock {
			n.Errorf("a process whose clock was %v ahead ended with status %d, want a refusal", clock, status)
		}
	}
	over := time.Now()
	who := n.replace(places, func(o *Orders) { o.Clock = -700 * time.Millisecond })
	return over, who
}

// stopSome stops processes until others have taken over their worker numbers.
func (n *nemesis) stopSome() (time.Time, []*process) {
	who := n.at(n.some())
	stopped := time.Now()
	for _, p := range who {
		if err := p.signal(syscall.SIGSTOP); err != nil {
			n.Errorf("%v", err)
		}
	}
	var heirs []*process
	for range who {
		heirs = append(heirs, n.launch(nil))
	}
	n.await("  their workers taken over", 0, stopped, heirs)
	for _, p := range who {
		if err := p.signal(syscall.SIGCONT); err != nil {
			n.Errorf("%v", err)
		}
	}
	// The new holders continue for a while, and so do the processes that wake up, but
	// only until they reach their bound.
	woken, awake := time.Now(), 0
	time.Sleep(300 * time.Millisecond)
	for _, p := range who {
		if p.drewSince(woken) {
			awake++
		}
	}
	n.Logf("        %d of %d go on under the lease that they have lost", awake, len(who))
	n.closeAll(heirs)
	return time.Now(), who
}

// takeAll starts more processes than there are worker numbers. They have to wait,
// unless others have lost their leases because the server stalled for longer than TTL.
func (n *nemesis) takeAll() (time.Time, []*process) {
	places := n.some()
	var queue []*process
	for range places {
		queue = append(queue, n.launch(nil))
	}
	time.Sleep(n.orders.TTL + n.orders.TTL/3)
	if held := n.holders(slices.Concat(n.crew, queue)); held > n.processes {
		n.Errorf("%d processes hold a lease, of %d worker numbers", held, n.processes)
	}
	for _, p := range n.at(places) {
		p.kill()
	}
	over := time.Now()
	for i, place := range places {
		n.crew[place] = queue[i]
	}
	return over, queue
}

// setClocks makes the clocks of some hosts jump. While these are wrong, ids must
// continue.
func (n *nemesis) setClocks(ahead time.Duration) (time.Time, []*process) {
	n.Helper()
	who := n.at(n.some())
	tell := func(ahead time.Duration) {
		for _, p := range who {
			if err := p.command("clock " + ahead.String()); err != nil {
				n.Errorf("%v", err)
			}
		}
	}
	tell(ahead)
	n.await("  while they are wrong", 0, time.Now(), who)
	tell(0)
	return time.Now(), who
}

// setServerClock makes the server's clock jump. If it jumps ahead, all leases have
// expired, and a process with a new lease issues ids from its bound, which may be a
// window ahead. A store that may lose commits grants no new lease then. If the clock jumps
// back, nothing is granted, but ids can still be issued up to the bounds.
func (n *nemesis) setServerClock(ahead time.Duration) (time.Time, []*process) {
	n.Helper()
	set := func(ahead time.Duration) {
		if err := n.server.setClock(ahead); err != nil {
			n.Errorf("%v", err)
		}
	}
	set(ahead)
	if ahead > 0 && !n.backend.volatile {
		n.await("  while it is wrong", 0, time.Now(), n.crew)
	} else {
		time.Sleep(n.orders.Window)
	}
	set(0)
	n.calm = time.Now().Add(2 * (n.orders.Window + n.orders.Skew))
	return time.Now(), n.crew
}

func (n *nemesis) cut() (time.Time, []*process) {
	for _, p := range n.crew { // if a clock is behind, it takes longer to reach the bound
		if err := p.command("clock 0s"); err != nil {
			n.Errorf("%v", err)
		}
	}
	time.Sleep(time.Until(n.calm))
	n.network.cut()
	time.Sleep(n.orders.Window + n.orders.Skew + 700*time.Millisecond)
	for _, p := range n.crew { // with days, a block of numbers lasts longer
		if !n.orders.Days && p.drewSince(time.Now().Add(-300*time.Millisecond)) {
			n.Errorf("%s draws ids although the store has been away for longer than its bound", p.label)
		}
	}
	n.network.heal()
	return time.Now(), n.crew
}

func (n *nemesis) badNetwork() (time.Time, []*process) {
	n.network.worsen(20, n.orders.Window/3) // patience is a quarter of the window
	time.Sleep(3 * time.Second)
	n.network.worsen(0, 0)
	return time.Now(), n.crew
}

// everything happens at once: the server and a third of the processes are killed,
// another third is stopped for longer than TTL, and the network is bad.
func (n *nemesis) everything() (time.Time, []*process) {
	places := rand.Perm(n.processes)
	third := n.processes / 3
	killed, stopped := places[:third], n.at(places[third:2*third])
	n.network.worsen(20, n.orders.Window/3)
	for _, p := range stopped {
		if err := p.signal(syscall.SIGSTOP); err != nil {
			n.Errorf("%v", err)
		}
	}
	for _, p := range n.at(killed) {
		p.kill()
	}
	n.replace(killed, nil)
	time.Sleep(n.orders.TTL)
	if err := n.server.kill(); err != nil {
		n.Errorf("%v", err)
	}
	for _, p := range stopped {
		if err := p.signal(syscall.SIGCONT); err != nil {
			n.Errorf("%v", err)
		}
	}
	if err := n.server.start(); err != nil {
		n.Fatal(err)
	}
	n.network.worsen(0, 0)
	return time.Now(), n.crew
}

func (n *nemesis) killServer() (time.Time, []*process) {
	if err := n.server.kill(); err != nil {
		n.Errorf("%v", err)
	}
	if n.length > 0 { // sometimes for longer than the bound
		time.Sleep(rand.N(2 * (n.orders.Window + n.orders.Skew)))
	}
	if err := n.server.start(); err != nil {
		n.Fatal(err)
	}
	return time.Now(), n.crew
}

// finish closes all processes and decides whether the test has failed.
func (n *nemesis) finish() {
	n.closeAll(n.crew)
	found, totals, err := n.check.Check()
	if err != nil {
		n.Errorf("%v", err)
	}
	var duplicates int64
	for i, d := range found {
		if duplicates += d.Count; i < 20 {
			n.Errorf("%v", d)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range n.bad {
		n.Errorf("%s", text)
	}
	if n.length > 0 {
		for _, name := range slices.Sorted(maps.Keys(n.worst)) {
			n.Logf("%-40s %3d times, ids again after %6.3fs at the latest", strings.TrimSpace(name), n.struck[name], n.worst[name].Seconds())
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	n.Logf("%d ids in %d runs under %d leases of %d processes, %d duplicates; %d KiB of memory, %.0f s",
		totals.IDs, totals.Runs, totals.Leases, n.started, duplicates, memory.HeapAlloc>>10, time.Since(n.began).Seconds())
	for _, text := range slices.Sorted(maps.Keys(n.notes)) {
		n.Logf("%4d × %s", n.notes[text], text)
	}
	if n.Failed() {
		n.tellLogs()
	}
}

// holders returns how many of the processes hold a lease, according to their logs.
func (n *nemesis) holders(who []*process) (count int) {
	for _, p := range who {
		text, err := p.log()
		if err != nil {
			n.Errorf("%v", err)
		}
		if strings.LastIndex(string(text), "leased a worker number") > strings.LastIndex(string(text), "lost the worker number") {
			count++
		}
	}
	return count
}

// tellLogs prints the end of the log of each process in the crew.
func (n *nemesis) tellLogs() {
	for _, p := range n.crew {
		n.tellLog(p)
	}
}

func (n *nemesis) tellLog(p *process) {
	text, err := p.log()
	if err != nil {
		n.Log(err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	n.Logf("%s:\n\t%s", p.label, strings.Join(lines[max(len(lines)-6, 0):], "\n\t"))
}
