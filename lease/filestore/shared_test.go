package filestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// TestShared runs random steps of processes that lease from two hosts and directly from
// the store. Processes are paused and killed, requests and replies are lost or late, and
// the store loses commits. It fails if a counter is issued a second time.
func TestShared(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3
	}
	issued, taken := int64(0), 0
	for seed := range seeds {
		w := newWorld(t, seed, rules{})
		if err := w.run(1500); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		issued += w.issued
		taken += w.taken
	}
	t.Logf("%d counters were issued; %d claims were answered by a file alone", issued, taken)
	if issued < 1000 || taken < 100 {
		t.Error("that is too little to prove anything")
	}
}

// TestSharedRules checks that each rule is needed: without it, a few steps are enough to
// issue an id a second time. With it, they are not.
func TestSharedRules(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		broken rules
		steps  func(*world)
	}{
		{"a process that lost its row can't record a grant", rules{ignoreOwner: true}, func(w *world) {
			first := w.supersede()
			w.renew(w.Context(), first)
			if first.held {
				w.issueAll(first)
			}
		}},
		{"a late release does not lower the store's bound", rules{lowerBound: true}, func(w *world) {
			first := w.supersede()
			first.store.Release(w.Context(), sharedTerms, first.row, first.next)
		}},
		{"a copy of the file has no leases", rules{keepCopies: true}, func(w *world) {
			first, next := w.actors[1], w.actors[4]
			w.lead(first)
			w.release(w.Context(), first)
			os.CopyFS(w.copies[0], os.DirFS(w.hosts[0]))
			w.lead(next)
			w.issueAll(next)
			os.RemoveAll(w.hosts[0])
			os.CopyFS(w.hosts[0], os.DirFS(w.copies[0]))
			w.lead(first)
			w.issueAll(first)
		}},
		{"a bound that was only read is not granted", rules{trustRead: true}, func(w *world) {
			first := w.renewals()
			before := w.memory.Snapshot()
			w.memory.Fault(func(string) leasetest.Fault { return leasetest.LoseReply })
			w.renew(w.Context(), first)
			w.memory.Fault(nil)
			w.now = w.now.Add(100 * time.Millisecond)
			w.renew(w.Context(), first)
			w.issueAll(first)
			w.memory.Restore(before)
		}},
		{"no counter is granted above the store's bound", rules{ignoreBound: true}, func(w *world) {
			first := w.renewals()
			w.memory.Fault(func(string) leasetest.Fault { return leasetest.Refuse })
			for range 2 {
				w.renew(w.Context(), first)
				w.now = w.now.Add(100 * time.Millisecond)
			}
			w.memory.Fault(nil)
			w.issueAll(first)
		}},
	} {
		for _, broken := range []rules{{}, tt.broken} {
			t.Run(fmt.Sprint(tt.rule, ", broken: ", broken != rules{}), func(t *testing.T) {
				w := newWorld(t, 1, broken)
				w.memory.Fault(nil)
				w.memory.After(nil)
				w.memory.CreateNamespace(t.Context(), sharedTerms, 0)
				w.memory.AddRows(t.Context(), sharedTerms, 0, sharedTerms.Workers-1)
				w.now = w.now.Add(time.Minute)
				tt.steps(w)
				// A minute later, another host leases all worker numbers.
				w.now = w.now.Add(time.Minute)
				direct := w.actors[0]
				for range sharedTerms.Workers {
					direct.forget()
					w.lead(direct)
					w.issueAll(direct)
				}
				if fails := w.failed != nil; fails != (broken != rules{}) {
					t.Errorf("ids that were issued a second time: %v", w.failed)
				}
			})
		}
	}
}

// lead makes an actor claim until it holds a lease.
func (w *world) lead(a *actor) {
	w.Helper()
	for range 30 {
		if !a.held {
			w.claim(w.Context(), a)
		}
	}
	if !a.held {
		w.Fatal(a.name, " has no lease")
	}
}

// supersede returns a process that was paused for so long that another process of its
// host has taken over its row and issued ids. After that, the store refused to renew the
// host's lease, so the file does not have it any more.
func (w *world) supersede() (first *actor) {
	first, next := w.actors[1], w.actors[4]
	w.lead(first)
	w.now = w.now.Add(2 * time.Second)
	w.lead(next)
	if next.row.Worker != first.row.Worker {
		w.Fatal("the next process has not taken over the row")
	}
	w.issueAll(next)
	w.now = w.now.Add(1400 * time.Millisecond)
	w.memory.SetVolatile(true)
	w.renew(w.Context(), next)
	w.memory.SetVolatile(false)
	return first
}

// renewals returns a process that has lived for 3.4 s, so that its grants are long.
func (w *world) renewals() *actor {
	a := w.actors[1]
	w.lead(a)
	for _, d := range []time.Duration{time.Second, 1500 * time.Millisecond} {
		w.now = w.now.Add(d)
		w.renew(w.Context(), a)
	}
	w.now = w.now.Add(900 * time.Millisecond)
	return a
}

// A world has a store, hosts that share its leases, and processes.
type world struct {
	*testing.T
	*rand.Rand
	memory    *leasetest.Memory
	now       time.Time
	latest    time.Time // the latest that now has been
	crashes   bool      // whether the store crashes; it is not volatile then, because both together are outside the protocol
	actors    []*actor
	spans     map[int64][]span // by worker
	hosts     []string
	copies    []string // copies of the hosts' directories
	snap      *leasetest.Snapshot
	unflushed *leasetest.Snapshot // without the writes that a crash of the store loses
	prints    int
	depth     int
	failed    error
	issued    int64
	taken     int
}

// An actor is a process that leases like the keeper does.
type actor struct {
	name    string
	host    int // -1 if it leases from the store directly
	store   lease.Store
	seen    *lease.Probe // of a claim that is not sent yet
	unsure  *lease.Probe // of a claim that was not answered
	held    bool
	row     lease.Row
	token   string // of a claim or renewal that was not answered
	next    int64
	pending bool
	vol     bool
}

func newWorld(t *testing.T, seed uint64, broken rules) *world {
	w := &world{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), memory: new(leasetest.Memory), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), spans: make(map[int64][]span)}
	w.crashes = seed%2 == 0
	w.memory.Clock = func() time.Time { return w.now }
	temp := memoryDir(t)
	for h := range 2 {
		w.hosts = append(w.hosts, filepath.Join(temp, fmt.Sprint("host", h)))
		w.copies = append(w.copies, filepath.Join(temp, fmt.Sprint("copy", h)))
	}
	for i := range 8 {
		a := &actor{name: fmt.Sprint("actor ", i), host: i%3 - 1, store: w.memory}
		if a.host >= 0 {
			s := Share(w.hosts[a.host], w.memory)
			s.rules, s.files.clock = broken, w.memory.Clock
			a.store = s
		}
		w.actors = append(w.actors, a)
	}
	w.memory.Fault(func(op string) leasetest.Fault {
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
	})
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

// memoryDir returns a directory in memory if there is one, because the disk is slow.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "snowkey-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (w *world) run(steps int) error {
	for range steps {
		if w.step(); w.failed != nil {
			return w.failed
		}
	}
	return nil
}

var sharedTerms = lease.Terms{
	Namespace: "ns", Layout: "l", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4, Workers: 4, Ahead: 11_000_000, Skew: 1_000_000, TTL: 15_000_000,
}

func (w *world) step() {
	w.latest = slices.MaxFunc([]time.Time{w.latest, w.now}, time.Time.Compare)
	switch n := w.IntN(400); {
	case n < 60:
		w.now = w.now.Add(time.Duration(w.IntN(1200)) * time.Millisecond)
	case n < 63:
		w.now = w.now.Add(time.Duration(w.IntN(20)) * time.Second)
	case n < 64:
		w.now = w.now.Add(-time.Duration(w.IntN(3000)) * time.Millisecond)
	case n < 67:
		w.memory.Deliver()
	case n < 68 && !w.crashes:
		w.memory.SetVolatile(w.IntN(2) == 0)
	case n < 69:
		s := w.memory.Snapshot()
		w.snap = &s
	case n < 70 && w.snap != nil: // a standby takes over without the last commits
		w.memory.Restore(*w.snap)
		w.now = w.latest // the clocks of servers that replace each other agree
		w.prints++
		w.memory.SetCurrent(fmt.Sprint("database ", w.prints))
	case n < 72 && w.unflushed != nil && w.crashes:
		w.now = w.latest
		w.memory.Restore(*w.unflushed)
		w.unflushed = nil
	case n < 73: // the host restarts
		h := w.IntN(len(w.hosts))
		for _, a := range w.actors {
			if a.host == h {
				a.forget()
			}
		}
		os.RemoveAll(w.hosts[h])
	case n < 75:
		h := w.IntN(len(w.hosts))
		os.RemoveAll(w.copies[h])
		os.CopyFS(w.copies[h], os.DirFS(w.hosts[h]))
	case n < 76: // a backup is restored while processes run
		h := w.IntN(len(w.hosts))
		if _, err := os.Stat(w.copies[h]); err == nil {
			os.RemoveAll(w.hosts[h])
			os.CopyFS(w.hosts[h], os.DirFS(w.copies[h]))
		}
	default:
		ctx, cancel := context.WithTimeout(w.Context(), time.Millisecond)
		defer cancel()
		w.act(ctx, w.actors[w.IntN(len(w.actors))])
	}
}

func (a *actor) forget() { *a = actor{name: a.name, host: a.host, store: a.store} }

func (w *world) act(ctx context.Context, a *actor) {
	if a.pending {
		return // it waits for the store
	}
	a.pending = true
	defer func() { a.pending = false }()
	switch n := w.IntN(20); {
	case !a.held:
		w.claim(ctx, a)
	case n < 8:
		w.issue(a)
	case n < 15:
		w.renew(ctx, a)
	case n < 18:
		w.release(ctx, a)
	case n < 19:
		a.forget()
	}
}

func (w *world) release(ctx context.Context, a *actor) {
	row, unused, unsure := a.row, a.next, a.token != ""
	if unsure {
		return
	}
	a.forget()
	a.store.Release(ctx, sharedTerms, row, unused)
}

// issue issues some of the counters that the actor was granted.
func (w *world) issue(a *actor) {
	tick := sharedTerms.At(w.now.UnixMicro()).Tick
	first := max(a.next, min(tick, a.row.Bound))
	last := min(first+w.Int64N(4000), a.row.Bound) - 1
	if w.IntN(3) == 0 {
		last = a.row.Bound - 1
	}
	w.record(a, first, last)
}

// issueAll issues all counters that the actor was granted.
func (w *world) issueAll(a *actor) { w.record(a, a.next, a.row.Bound-1) }

func (w *world) record(a *actor, first, last int64) {
	if last < first {
		return
	}
	one := span{process: a.name, worker: a.row.Worker, first: first, last: last}
	for _, other := range w.spans[one.worker] {
		if one.first <= other.last && other.first <= one.last && w.failed == nil {
			w.failed = fmt.Errorf("%+v and %+v issue the same ids", one, other)
		}
	}
	w.spans[one.worker] = append(w.spans[one.worker], one)
	w.issued += last - first + 1
	a.next = last + 1
}

func (w *world) claim(ctx context.Context, a *actor) {
	if a.unsure != nil {
		w.resolve(ctx, a)
		return
	}
	if a.seen == nil {
		if a.store.Migrate(ctx) != nil {
			return
		}
		p, err := a.store.Probe(ctx, lease.Query{Terms: sharedTerms, Max: sharedTerms.Workers - 1, PreferWorker: -1})
		switch {
		case err != nil:
		case !p.HasNamespace:
			if _, position, err := a.store.Layouts(ctx, sharedTerms.Namespace); err == nil {
				a.store.CreateNamespace(ctx, sharedTerms, position)
			}
		case p.Fingerprint != p.Current:
			a.store.Fence(ctx, sharedTerms, p.Fingerprint)
		case !p.HasFree && p.LastWorker < sharedTerms.Workers-1:
			a.store.AddRows(ctx, sharedTerms, p.LastWorker+1, sharedTerms.Workers-1)
		case p.HasFree:
			a.seen = &p
		}
		if a.seen == nil || w.IntN(4) == 0 {
			return // the claim comes later
		}
	}
	p := *a.seen
	a.seen = nil
	before := w.memory.Calls("Claim") + w.memory.Calls("Renew")
	a.token = fmt.Sprint("t", w.Uint64())
	c := lease.Claim{Terms: sharedTerms, Seen: p.Row, Fence: p.Fence, Token: a.token, Volatile: p.Volatile, Wanted: w.wanted()}
	if p.Volatile {
		c.Wanted = 1<<63 - 1
		c.Terms.Ahead += c.Terms.Skew
	}
	row, ok, err := a.store.Claim(ctx, c)
	a.vol = p.Volatile
	switch {
	case err != nil:
		a.unsure = &p
	case ok:
		if a.host >= 0 && before == w.memory.Calls("Claim")+w.memory.Calls("Renew") {
			w.taken++
		}
		a.hold(row, max(p.Row.Bound, p.Fence), row.Bound)
	}
}

func (a *actor) hold(row lease.Row, start, bound int64) {
	if a.vol {
		start = max(start, row.Bound)
	}
	a.held, a.row, a.next, a.token = true, row, start, ""
	a.row.Bound = max(bound, start)
}

// resolve finds out what happened to a claim that was not answered.
func (w *world) resolve(ctx context.Context, a *actor) {
	rows, err := a.store.Rows(ctx, sharedTerms, a.unsure.Row.Worker, a.unsure.Row.Worker)
	if err != nil {
		return
	}
	if len(rows) == 1 && rows[0].Token == a.token && rows[0].Expires >= rows[0].Now {
		start := max(a.unsure.Row.Bound, a.unsure.Fence)
		a.unsure = nil
		a.hold(rows[0], start, 0)
		return
	}
	a.unsure, a.token = nil, ""
}

func (w *world) renew(ctx context.Context, a *actor) {
	if a.token == "" {
		a.token = fmt.Sprint("t", w.Uint64())
	}
	row, ok, err := a.store.Renew(ctx, lease.Renewal{Terms: sharedTerms, Held: a.row, Token: a.token, Volatile: a.vol, Wanted: max(w.wanted(), a.row.Bound)})
	if err == nil && ok {
		a.row, a.token = row, ""
		return
	}
	rows, err := a.store.Rows(ctx, sharedTerms, a.row.Worker, a.row.Worker)
	switch {
	case err != nil:
	case len(rows) == 0, rows[0].Token != a.row.Token && rows[0].Token != a.token, rows[0].Expires < rows[0].Now:
		a.forget()
	case rows[0].Token == a.token:
		a.row.Token, a.row.Revision, a.token = rows[0].Token, rows[0].Revision, ""
	}
}

func (w *world) wanted() int64 { return sharedTerms.At(w.now.UnixMicro()).Cap }
