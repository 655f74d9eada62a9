//go:build linux

package filestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// seeds is the number of runs of TestShareFaults. There are more at night.
var seeds = uint64(6)

// TestShareFaults runs random steps of processes that share leases on two hosts, or lease
// from the store directly. Processes are killed, requests and replies are lost or late,
// clocks jump, files are copied and restored, hosts restart, and the store loses commits.
// It fails if a counter is issued a second time. A seed always gives the same run.
func TestShareFaults(t *testing.T) {
	var issued, passed int
	for seed := range seeds {
		w := runWorld(t, seed, rules{})
		if w.failed != nil {
			t.Fatalf("seed %d: %v", seed, w.failed)
		}
		issued, passed = issued+w.issued, passed+w.passed
	}
	t.Logf("%d grants were issued; %d claims sent nothing to the store", issued, passed)
	if issued < 300*int(seeds) || passed < 30*int(seeds) {
		t.Error("that is too little to prove anything")
	}
	if one, two := runWorld(t, 1, rules{}), runWorld(t, 1, rules{}); !slices.Equal(one.log, two.log) {
		t.Error("the same seed gave another run")
	}
}

// TestShareRules checks that each rule is needed: without it, a few steps issue an id a
// second time. With it, they do not.
func TestShareRules(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		broken rules
		steps  func(w *world, first, next, direct *brief)
	}{
		{"continue only what no process has locked", rules{ignoreLock: true}, func(w *world, first, next, _ *brief) {
			w.lead(first)
			w.lead(next)
			w.extend(w.Context(), first, first.row.Bound+1)
			w.issueAll(first)
			w.issueAll(next)
		}},
		{"write a grant before it is used", rules{grantBefore: true}, func(w *world, first, next, _ *brief) {
			w.lead(first)
			w.issueAll(first)
			w.kill(first)
			w.lead(next)
			w.issueAll(next)
		}},
		{"grant only what the store has confirmed", rules{grantBeyond: true}, func(w *world, first, _, direct *brief) {
			w.lead(first)
			w.extend(w.Context(), first, sharedTerms.At(w.now.UnixMicro()).Cap+4000)
			w.issueAll(first)
			w.now = w.now.Add(17 * time.Second)
			for range sharedTerms.Workers {
				w.lead(direct)
				w.issueAll(direct)
				direct.held = false
			}
		}},
		{"take the lease out of the file before a renewal is sent", rules{keepRecord: true}, func(w *world, first, next, _ *brief) {
			w.lead(first)
			w.memory.Fault(func(op string) leasetest.Fault {
				return map[bool]leasetest.Fault{true: leasetest.LoseReply}[op == "Renew"]
			})
			w.extend(w.Context(), first, sharedTerms.At(w.now.UnixMicro()).Cap)
			w.memory.Fault(nil)
			w.lead(next)
			w.issueAll(next)
			w.extend(w.Context(), first, first.row.Bound+1)
			w.issueAll(first)
		}},
		{"a copy of a file has no lease", rules{trustCopies: true}, func(w *world, first, next, _ *brief) {
			w.lead(first)
			first.store.Release(w.Context(), sharedTerms, first.row, first.next)
			w.copy(w.hosts[0], w.copies[0])
			w.lead(next)
			w.issueAll(next)
			w.copy(w.copies[0], w.hosts[0])
			w.lead(w.processes[7])
			w.issueAll(w.processes[7])
		}},
	} {
		for _, broken := range []rules{{}, tt.broken} {
			t.Run(fmt.Sprint(tt.rule, ", broken: ", broken != rules{}), func(t *testing.T) {
				w := newWorld(t, memoryDir(t), 1, broken)
				w.memory.Fault(nil)
				w.memory.After(nil)
				w.memory.CreateNamespace(t.Context(), sharedTerms, 0)
				w.memory.AddRows(t.Context(), sharedTerms, 0, sharedTerms.Workers-1)
				w.now = w.now.Add(time.Minute)
				tt.steps(w, w.processes[1], w.processes[4], w.processes[0])
				if fails := w.failed != nil; fails != (broken != rules{}) {
					t.Errorf("ids that were issued a second time: %v", w.failed)
				}
			})
		}
	}
}

// lead makes a process claim until it has a lease.
func (w *world) lead(p *brief) {
	w.Helper()
	for range 30 {
		if !p.held {
			w.claim(w.Context(), p)
		}
	}
	if !p.held {
		w.Fatal(p.name, " has no lease")
	}
}

// A world has a store, hosts that share its leases, and processes.
type world struct {
	*testing.T
	*rand.Rand
	memory    *leasetest.Memory
	broken    rules
	now       time.Time
	latest    time.Time // the latest that now has been
	faults    faults
	processes []*brief
	spans     map[int64][]span // by worker
	log       []string         // the calls of the store
	hosts     []string
	copies    []string // copies of the hosts' directories
	snap      *leasetest.Snapshot
	unflushed *leasetest.Snapshot // without the writes that a crash of the store loses
	prints    int
	depth     int
	failed    error
	issued    int
	passed    int // claims without a request to the store
}

// faults says which faults of the store the run of a seed has. The others together with
// these are outside the protocol. See package model.
type faults uint64

const (
	crashes  faults = iota // it crashes, and fails over
	volatile               // it becomes volatile, and fails over
	jumps                  // its clock jumps back
)

// A brief is a process that leases as the keeper does.
type brief struct {
	name     string
	host     int // -1 if it leases from the store directly
	store    lease.Store
	seen     *lease.Probe // of a claim that is not sent yet
	unsure   *lease.Probe // of a claim that was not answered
	held     bool
	row      lease.Row
	token    string // of a claim or renewal that was not answered
	next     int64
	waits    bool // for the store
	volatile bool
}

// runWorld runs the steps of a seed.
func runWorld(t *testing.T, seed uint64, broken rules) (w *world) {
	temp := memoryDir(t)
	synctest.Test(t, func(t *testing.T) { // so that a timeout takes no time
		cryptotest.SetGlobalRandom(t, seed) // names of files
		w = newWorld(t, temp, seed, broken)
		for range 1500 {
			if w.step(); w.failed != nil {
				break
			}
		}
		for _, p := range w.processes {
			w.kill(p)
		}
	})
	if err := os.RemoveAll(temp); err != nil {
		t.Fatal(err)
	}
	return w
}

func newWorld(t *testing.T, temp string, seed uint64, broken rules) *world {
	w := &world{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), memory: new(leasetest.Memory), broken: broken,
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), spans: make(map[int64][]span)}
	w.faults = faults(seed % 3)
	w.memory.Clock = w.clock
	for h := range 2 {
		w.hosts = append(w.hosts, filepath.Join(temp, fmt.Sprint("host", h)))
		w.copies = append(w.copies, filepath.Join(temp, fmt.Sprint("copy", h)))
	}
	for i := range 9 {
		p := &brief{name: fmt.Sprint("process ", i), host: i%3 - 1}
		w.kill(p) // starts it
		w.processes = append(w.processes, p)
	}
	w.memory.Fault(w.fault)
	// Other processes continue while one waits for the answer of the store.
	w.memory.After(func(string) {
		if w.depth < 3 && w.IntN(2) == 0 {
			w.depth++
			for range w.IntN(6) {
				w.step()
			}
			w.depth--
		}
	})
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) fault(op string) leasetest.Fault {
	w.log = append(w.log, op)
	synctest.Wait() // until each ctx that has ended by now shows it
	reads := op == "Probe" || op == "Rows" || op == "Layouts"
	switch w.IntN(25) {
	case 0:
		return leasetest.Refuse
	case 1, 2:
		if w.unflushed == nil && !reads {
			s := w.memory.Snapshot()
			w.unflushed = &s
		}
		return leasetest.LoseReply
	case 3:
		return leasetest.Late
	}
	if !reads {
		w.unflushed = nil // the answer to a write confirms the earlier ones
	}
	return leasetest.None
}

// kill ends a process without Close and starts another one in its place.
func (w *world) kill(p *brief) {
	if s, ok := p.store.(*shared); ok {
		for _, h := range s.held {
			h.file.Close() // as the kernel does
		}
	}
	*p = brief{name: p.name + "'", host: p.host, store: steady{w.memory, w.IntN}}
	if p.host >= 0 {
		s := Share(w.hosts[p.host], p.store).(*shared)
		s.broken, s.files.clock = w.broken, w.clock
		p.store = s
	}
}

// steady is a Memory whose Probe always makes the same choice for the same seed.
type steady struct {
	*leasetest.Memory
	number func(int) int
}

func (s steady) Probe(ctx context.Context, q lease.Query) (p lease.Probe, err error) {
	first := int64(s.number(int(q.Max + 1)))
	for i := range q.Max + 1 {
		one := q
		one.Min = (first + i) % (q.Max + 1)
		one.Max = one.Min
		p, err = s.Memory.Probe(ctx, one)
		if err != nil || p.HasFree || !p.HasNamespace || p.Fingerprint != p.Current || p.LastWorker < one.Min {
			return p, err
		}
	}
	p.LastWorker = q.Max
	return p, err
}

var sharedTerms = lease.Terms{
	Namespace: "ns", Layout: "l", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4, Workers: 4, Ahead: 11_000_000, Skew: 1_000_000, TTL: 15_000_000,
}

func (w *world) step() {
	w.latest = slices.MaxFunc([]time.Time{w.latest, w.now}, time.Time.Compare)
	switch n := w.IntN(400); {
	case n < 60:
		w.now = w.now.Add(time.Duration(w.IntN(600)) * time.Millisecond)
	case n < 63:
		w.now = w.now.Add(time.Duration(w.IntN(20)) * time.Second)
	case n < 64 && w.faults == jumps:
		w.now = w.now.Add(-time.Duration(w.IntN(3000)) * time.Millisecond)
	case n < 67:
		w.memory.Deliver()
	case n < 68 && w.faults == volatile:
		w.memory.SetVolatile(w.IntN(2) == 0)
	case n < 69 && w.unflushed == nil && w.faults != jumps: // a standby or a backup has only what is on the disk
		s := w.memory.Snapshot()
		w.snap = &s
	case n < 70 && w.snap != nil: // a standby takes over without the last commits
		w.memory.Restore(*w.snap)
		w.unflushed = nil
		w.now = w.latest // the clocks of servers that replace each other agree
		w.prints++
		w.memory.SetCurrent(fmt.Sprint("database ", w.prints))
	case n < 72 && w.unflushed != nil && w.faults == crashes:
		w.now = w.latest
		w.memory.Restore(*w.unflushed)
		w.unflushed = nil
	case n < 73: // the host restarts
		h := w.IntN(len(w.hosts))
		for _, p := range w.processes {
			if p.host == h && !p.waits {
				w.kill(p)
			}
		}
		os.RemoveAll(w.hosts[h])
	case n < 75:
		h := w.IntN(len(w.hosts))
		w.copy(w.hosts[h], w.copies[h])
	case n < 76: // a backup is restored while processes run
		h := w.IntN(len(w.hosts))
		if _, err := os.Stat(w.copies[h]); err == nil {
			w.copy(w.copies[h], w.hosts[h])
		}
	default:
		if p := w.processes[w.IntN(len(w.processes))]; !p.waits {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			p.waits = true
			w.act(ctx, p)
			p.waits = false
			cancel()
		}
	}
}

// copy replaces the directory to with a copy of the directory from, if there is one.
func (w *world) copy(from, to string) {
	os.RemoveAll(to)
	if _, err := os.Stat(from); err != nil {
		return
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) act(ctx context.Context, p *brief) {
	switch n := w.IntN(20); {
	case n < 1:
		w.kill(p)
		p.waits = true
	case !p.held:
		w.claim(ctx, p)
	case n < 9:
		w.issue(p)
	case n < 16:
		w.renew(ctx, p)
	default:
		if row, next := p.row, p.next; p.token == "" {
			p.held = false
			p.store.Release(ctx, sharedTerms, row, next)
		}
	}
}

// issue issues some of the counters that the process was granted.
func (w *world) issue(p *brief) {
	first := max(p.next, min(sharedTerms.At(w.now.UnixMicro()).Tick, p.row.Bound))
	last := min(first+w.Int64N(400), p.row.Bound) - 1
	if w.IntN(3) == 0 {
		last = p.row.Bound - 1
	}
	w.record(p, first, last)
}

// issueAll issues all counters that the process was granted.
func (w *world) issueAll(p *brief) { w.record(p, p.next, p.row.Bound-1) }

func (w *world) record(p *brief, first, last int64) {
	if last < first {
		return
	}
	one := span{process: p.name, worker: p.row.Worker, first: first, last: last}
	for _, other := range w.spans[one.worker] {
		if one.first <= other.last && other.first <= one.last && w.failed == nil {
			w.failed = fmt.Errorf("%+v and %+v issue the same ids", one, other)
		}
	}
	w.spans[one.worker] = append(w.spans[one.worker], one)
	w.issued++
	p.next = last + 1
}

func (w *world) claim(ctx context.Context, p *brief) {
	if p.unsure != nil {
		w.resolve(ctx, p)
		return
	}
	if p.seen == nil {
		probe, err := p.store.Probe(ctx, lease.Query{Terms: sharedTerms, Max: sharedTerms.Workers - 1, PreferWorker: -1})
		switch {
		case err != nil:
		case !probe.HasNamespace:
			if _, position, err := p.store.Layouts(ctx, sharedTerms.Namespace); err == nil {
				p.store.CreateNamespace(ctx, sharedTerms, position)
			}
		case probe.Fingerprint != probe.Current:
			p.store.Fence(ctx, sharedTerms, probe.Fingerprint)
		case !probe.HasFree && probe.LastWorker < sharedTerms.Workers-1:
			p.store.AddRows(ctx, sharedTerms, 0, sharedTerms.Workers-1)
		case probe.HasFree:
			p.seen = &probe
		}
		if p.seen == nil || w.IntN(4) == 0 {
			return // the claim comes later
		}
	}
	seen := *p.seen
	p.seen, p.volatile = nil, seen.Volatile
	p.token = fmt.Sprint("t", w.Uint64())
	start := max(seen.Row.Bound, seen.Fence)
	c := lease.Claim{Terms: sharedTerms, Seen: seen.Row, Fence: seen.Fence, Token: p.token, Volatile: seen.Volatile, Wanted: w.wanted(start)}
	if seen.Volatile {
		c.Wanted = 1<<63 - 1
		c.Terms.Ahead += c.Terms.Skew
	}
	before := w.memory.Calls("Claim") + w.memory.Calls("Renew")
	row, ok, err := p.store.Claim(ctx, c)
	switch {
	case err != nil:
		p.unsure = &seen
	case ok:
		if before == w.memory.Calls("Claim")+w.memory.Calls("Renew") {
			w.passed++
		}
		p.hold(row, start, row.Bound)
	default:
		p.token = ""
	}
}

func (p *brief) hold(row lease.Row, start, bound int64) {
	if p.volatile {
		start = max(start, row.Bound)
	}
	p.held, p.row, p.next, p.token = true, row, start, ""
	p.row.Bound = max(bound, start)
}

// resolve finds out what happened to a claim that was not answered.
func (w *world) resolve(ctx context.Context, p *brief) {
	worker := p.unsure.Row.Worker
	rows, err := p.store.Rows(ctx, sharedTerms, worker, worker)
	if err != nil {
		return
	}
	start := max(p.unsure.Row.Bound, p.unsure.Fence)
	p.unsure = nil
	if len(rows) == 1 && rows[0].Token == p.token && rows[0].Expires >= rows[0].Now {
		p.hold(rows[0], start, 0)
	}
	p.token = ""
}

func (w *world) renew(ctx context.Context, p *brief) {
	needed := int64(0)
	if w.IntN(2) == 0 { // it has issued all that it was granted
		needed = p.row.Bound + 1
	}
	w.extend(ctx, p, needed)
}

// extend renews a lease as a keeper does that needs the counters below needed.
func (w *world) extend(ctx context.Context, p *brief, needed int64) {
	if p.token == "" {
		p.token = fmt.Sprint("t", w.Uint64())
	}
	row, ok, err := p.store.Renew(ctx, lease.Renewal{Terms: sharedTerms, Held: p.row, Token: p.token, Volatile: p.volatile, Wanted: w.wanted(needed)})
	if err == nil && ok {
		p.row, p.token = row, ""
		return
	}
	rows, err := p.store.Rows(ctx, sharedTerms, p.row.Worker, p.row.Worker)
	switch {
	case err != nil:
	case len(rows) == 0, rows[0].Token != p.row.Token && rows[0].Token != p.token, rows[0].Expires < rows[0].Now:
		p.held, p.token = false, ""
	case rows[0].Token == p.token:
		p.row.Token, p.row.Revision, p.token = rows[0].Token, rows[0].Revision, ""
	}
}

// wanted returns the bound that a keeper wants if it needs the counters below needed.
func (w *world) wanted(needed int64) int64 {
	limits := sharedTerms.At(w.now.UnixMicro())
	return max(limits.Cap, needed+limits.Cap-limits.Tick)
}
