// Package simulation simulates a large fleet of processes that lease worker numbers, with
// rolling deploys, the loss of a region and clock faults.
//
// The simulation is a loop over events in virtual time. The rules of claims and renewals
// and all bounds are the real ones, from packages leaserule and lease. The schedule of the
// keeper is modelled: when it renews, how long it waits, and what it does after an error.
// A test compares the model with real keepers in a bubble of testing/synctest. A
// hundred thousand real keepers would be possible, but neither fast nor deterministic.
// Here, the same seed always gives the same table.
package simulation

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/lease"
)

// A Config describes the fleet and its store.
type Config struct {
	Seed      uint64
	Processes int              // distributed evenly over three regions
	Bits      int              // of the worker field
	Window    time.Duration    // TTL is one and a half times as long; MaxClockSkew is a second
	Cores     int              // of the store
	Statement time.Duration    // CPU time of a statement in the store
	Connect   time.Duration    // CPU time of a new connection in the store
	Latency   [3]time.Duration // round trip from each region to the store; the store is in the region with the shortest
	Broken    string           // a rule that is left out: "" for none, "start" or "fence"
}

// A region is lost at lossAt. The others are phases of the table.
const (
	startFor  = 100 * time.Second
	deployAt  = 3 * time.Minute
	deployFor = 5 * time.Minute
	lossAt    = 10 * time.Minute
	outage    = 20 * time.Second
	replaceIn = 2 * time.Minute
	clocksAt  = 14 * time.Minute
	end       = 17 * time.Minute
)

// phases are the lines of the table, with the time at which each ends.
var phases = []struct {
	name  string
	until time.Duration
}{
	{"all processes start within 100 s", deployAt},
	{"rolling deploy within 5 min, 5 % are killed", lossAt},
	{"loss of the region with the store, failover after 20 s", clocksAt},
	{"clocks of 2 % of the hosts jump", end},
}

// A Phase is a line of the table.
type Phase struct {
	Name       string
	Running    int             // most processes at once
	Free       int             // fewest free worker numbers
	Starts     []time.Duration // times to the first id, sorted
	Waiting    int             // processes that had no id yet at the end
	Mean, Peak int             // statements of the store in a second
	Lost       int             // leases
}

// A Result is what a simulation found.
type Result struct {
	Phases     []Phase
	Leases     int
	Duplicates int // pairs of leases that granted the same ids
}

const (
	skew   = time.Second
	layout = "simulated"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A sim is the state of a simulation. All times are since its begin.
type sim struct {
	cfg    Config
	terms  lease.Terms
	rand   *rand.Rand
	now    time.Duration
	events events
	serial int

	rows        []lease.Row
	free        []int64       // workers whose rows may be free
	position    map[int64]int // in free
	fence       int64
	fingerprint string // stored
	current     string
	down        bool
	clock       time.Duration   // how far the store's clock is off
	cores       []time.Duration // when each is idle again
	recent      []change        // that a failover can lose

	processes []*process
	running   int
	spans     []span
	result    Result
	phase     int
	second    int // statements in the current second
	secondAt  time.Duration
	total     int
	since     time.Duration // when the phase began
}

// A change is the state of a row before an update.
type change struct {
	at  time.Duration
	row lease.Row
}

// A span is what a lease may have issued: counters from first until before end.
type span struct{ worker, first, end int64 }

// A process is one keeper.
type process struct {
	region  int
	clock   time.Duration // how far its clock is off
	started time.Duration
	alive   bool
	row     lease.Row
	start   int64
	bound   int64 // confirmed
	pending string
	sent    time.Duration
	issued  bool // whether it has had an id
	attempt int
	fails   int
}

type event struct {
	at     time.Duration
	serial int
	f      func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last].f = nil
	*e = (*e)[:last]
	return x
}

func (s *sim) after(d time.Duration, f func()) {
	s.serial++
	heap.Push(&s.events, event{s.now + max(d, 0), s.serial, f})
}

// Run runs the simulation.
func Run(cfg Config) Result {
	s := &sim{
		cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0)), position: make(map[int64]int),
		fingerprint: "first", current: "first", cores: make([]time.Duration, cfg.Cores),
		terms: lease.Terms{
			Namespace: "default", Layout: layout, Epoch: epoch.Add(-time.Hour).UnixMicro(), Unit: 1000, PerTick: 16,
			Workers: 1 << cfg.Bits, Ahead: (cfg.Window + skew).Microseconds(), Skew: skew.Microseconds(),
			TTL: (cfg.Window + cfg.Window/2).Microseconds(),
		},
	}
	for w := range s.terms.Workers {
		s.rows = append(s.rows, lease.Row{Worker: w})
		s.setFree(w)
	}
	s.script()
	s.result.Phases = append(s.result.Phases, Phase{Name: phases[0].name, Free: len(s.rows)})
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		if e.at > end {
			break
		}
		for e.at >= phases[s.phase].until {
			s.endPhase(phases[s.phase].until)
			s.phase++
			s.result.Phases = append(s.result.Phases, Phase{Name: phases[s.phase].name, Free: len(s.free), Running: s.running})
		}
		s.now = e.at
		e.f()
	}
	s.endPhase(end)
	for _, p := range s.processes {
		s.died(p)
	}
	s.result.Leases = len(s.spans)
	s.result.Duplicates = overlaps(s.spans)
	return s.result
}

// script plans what happens to the fleet.
func (s *sim) script() {
	n := s.cfg.Processes
	begin := func(region int) *process {
		p := &process{region: region}
		s.processes = append(s.processes, p)
		// Most clocks are good, and a third is off by nearly as much as is allowed.
		p.clock = time.Duration(s.rand.NormFloat64() * float64(5*time.Millisecond))
		if s.rand.IntN(3) == 0 {
			p.clock = time.Duration(s.rand.Int64N(int64(1600*time.Millisecond))) - 800*time.Millisecond
		}
		s.begin(p)
		return p
	}
	for i := range n {
		s.after(startFor*time.Duration(i)/time.Duration(n), func() { begin(i % 3) })
		s.after(deployAt+deployFor*time.Duration(i)/time.Duration(n), func() {
			old := s.processes[i]
			begin(old.region)
			// The old process ends when the new one has had some time to get ready.
			s.after(2*time.Second, func() {
				if s.rand.IntN(20) == 0 {
					s.kill(old)
				} else {
					s.close(old)
				}
			})
		})
	}
	s.after(lossAt, func() {
		lost := 0
		for _, p := range s.processes {
			if p.alive && p.region == s.home() {
				held := p.row
				s.kill(p)
				if lost++; lost <= 50 {
					// An operator frees some of the worker numbers by hand.
					s.after(outage+5*time.Second, func() {
						s.update(held.Worker, func(r *lease.Row) bool { return leaserule.Release(r, *r, r.Bound) })
					})
				}
			}
		}
		s.down = true
		home := s.home()
		s.after(outage, func() {
			s.failover()
			others := []int{(home + 1) % 3, (home + 2) % 3}
			s.cfg.Latency[home], s.cfg.Latency[others[0]] = s.cfg.Latency[others[0]], s.cfg.Latency[home]
		})
		for i := range lost {
			s.after(replaceIn*time.Duration(i)/time.Duration(lost), func() { begin((home + 1 + i%2) % 3) })
		}
	})
	s.after(clocksAt, func() {
		for _, p := range s.processes {
			if p.alive && s.rand.IntN(50) == 0 {
				p.clock += time.Duration(s.rand.Int64N(int64(10*time.Minute))) - 5*time.Minute
			}
		}
		s.clock -= 500 * time.Millisecond
	})
}

// home returns the region of the store.
func (s *sim) home() int {
	best := 0
	for r, l := range s.cfg.Latency {
		if l < s.cfg.Latency[best] {
			best = r
		}
	}
	return best
}

// failover makes a standby the store. It lacks the commits of the last 200 ms, and its
// clock is behind.
func (s *sim) failover() {
	for _, c := range slices.Backward(s.recent) {
		if c.at > lossAt-200*time.Millisecond {
			s.rows[c.row.Worker] = c.row
			s.setFree(c.row.Worker)
		}
	}
	s.recent, s.down, s.current = nil, false, "second"
	s.clock = -300 * time.Millisecond
	if s.cfg.Broken == "fence" {
		s.fingerprint = s.current
	}
	for i := range s.cores {
		s.cores[i] = s.now
	}
}

// time returns the store's time in microseconds since 1970.
func (s *sim) time() int64 { return epoch.Add(s.now + s.clock).UnixMicro() }

func (s *sim) host(p *process) int64 { return epoch.Add(s.now + p.clock).UnixMicro() }

// ask sends a request of some statements, each a round trip, to the store. The store
// executes f, and the process gets the answer. If the store is down, failed runs instead.
func (s *sim) ask(p *process, statements int, extra time.Duration, f func(), answer, failed func()) {
	trip := s.cfg.Latency[p.region]
	timeout := s.cfg.Window / 4
	if p.bound == 0 {
		timeout = s.cfg.Window / 2
	}
	done := false
	s.after(timeout, func() {
		if !done {
			done = true
			failed()
		}
	})
	s.after(trip/2, func() {
		if s.down {
			s.after(trip/2, func() {
				if !done {
					done = true
					failed()
				}
			})
			return
		}
		core := 0
		for c, idle := range s.cores {
			if idle < s.cores[core] {
				core = c
			}
		}
		s.cores[core] = max(s.cores[core], s.now) + time.Duration(statements)*s.cfg.Statement + extra
		s.after(s.cores[core]-s.now+trip*time.Duration(statements-1), func() {
			if s.down {
				return // the process times out
			}
			s.count(statements)
			f()
			s.after(trip/2, func() {
				if !done {
					done = true
					answer()
				}
			})
		})
	})
}

func (s *sim) count(statements int) {
	if second := s.now.Truncate(time.Second); second != s.secondAt {
		s.endSecond()
		s.secondAt = second
	}
	s.second += statements
	s.total += statements
}

func (s *sim) endSecond() {
	p := &s.result.Phases[s.phase]
	p.Peak = max(p.Peak, s.second)
	s.second = 0
}

func (s *sim) endPhase(at time.Duration) {
	s.endSecond()
	p := &s.result.Phases[s.phase]
	p.Mean = int(float64(s.total) / (at - s.since).Seconds())
	s.total, s.since = 0, at
	slices.Sort(p.Starts)
	for _, process := range s.processes {
		if process.alive && !process.issued {
			p.Waiting++
		}
	}
}

// setFree makes a row a candidate for claims.
func (s *sim) setFree(worker int64) {
	if _, ok := s.position[worker]; !ok {
		s.position[worker] = len(s.free)
		s.free = append(s.free, worker)
		s.noteFree()
	}
}

func (s *sim) setLeased(worker int64) {
	if i, ok := s.position[worker]; ok {
		last := s.free[len(s.free)-1]
		s.free[i], s.position[last] = last, i
		s.free = s.free[:len(s.free)-1]
		delete(s.position, worker)
		s.noteFree()
	}
	// It is a candidate again when it has expired, if it was not renewed by then.
	r := s.rows[worker]
	s.after(time.Duration(r.Expires+s.terms.Skew-s.time()+1)*time.Microsecond, func() { s.expired(worker, r.Revision) })
}

func (s *sim) expired(worker, revision int64) {
	if r := s.rows[worker]; r.Revision == revision {
		s.setFree(worker)
	}
}

func (s *sim) noteFree() {
	if n := len(s.result.Phases); n > 0 {
		p := &s.result.Phases[n-1]
		p.Free = min(p.Free, len(s.free))
	}
}

// update writes a row.
func (s *sim) update(worker int64, f func(*lease.Row) bool) (row lease.Row, ok bool) {
	before := s.rows[worker]
	row = before
	row.Now = s.time()
	if !f(&row) {
		return row, false
	}
	s.rows[worker] = row
	if s.now > lossAt-time.Second && s.now < lossAt+outage {
		s.recent = append(s.recent, change{s.now, before})
	}
	if row.Token == "" {
		s.setFree(worker)
	} else {
		s.setLeased(worker)
	}
	return row, true
}

func (s *sim) token() string {
	s.serial++
	return fmt.Sprint(s.serial)
}

// begin starts a process, which first connects.
func (s *sim) begin(p *process) {
	p.started, p.alive = s.now, true
	s.running++
	phase := &s.result.Phases[len(s.result.Phases)-1]
	phase.Running = max(phase.Running, s.running)
	s.after(3*s.cfg.Latency[p.region], func() { s.probe(p, s.cfg.Connect) })
}

// probe looks for a free row.
func (s *sim) probe(p *process, connect time.Duration) {
	if !p.alive {
		return
	}
	var row lease.Row
	var found bool
	var fence int64
	var stored, current string
	s.ask(p, 1, connect, func() {
		fence, stored, current = s.fence, s.fingerprint, s.current
		var some []lease.Row
		for range min(len(s.free), 16) {
			r := s.rows[s.free[s.rand.IntN(len(s.free))]]
			r.Now = s.time()
			some = append(some, r)
		}
		if s.cfg.Broken == "start" {
			slices.SortFunc(some, func(a, b lease.Row) int { return cmp.Compare(b.Bound, a.Bound) })
			row, found = some[0], true
			return
		}
		row, found = leaserule.Choose(some, lease.Query{Terms: s.terms, Max: s.terms.Workers - 1, PreferWorker: -1})
	}, func() {
		switch {
		case stored != current:
			s.ask(p, 1, 0, func() {
				if s.fingerprint == stored {
					s.fingerprint, s.fence = s.current, max(s.fence, s.terms.At(s.time()).RaisedFence)
				}
			}, func() { s.probe(p, 0) }, func() { s.probeLater(p, 100*time.Millisecond) })
		case !found:
			s.probeLater(p, 1500*time.Millisecond)
		default:
			s.claim(p, row, fence)
		}
	}, func() { s.probeLater(p, 100*time.Millisecond<<min(p.attempt, 3)) })
}

// probeLater probes again after a random pause around d.
func (s *sim) probeLater(p *process, d time.Duration) {
	p.attempt++
	s.after(d/2+time.Duration(s.rand.Int64N(int64(d))), func() { s.probe(p, 0) })
}

func (s *sim) claim(p *process, seen lease.Row, fence int64) {
	token := s.token()
	p.sent = s.now
	var row lease.Row
	var ok bool
	start := max(seen.Bound, fence)
	if s.cfg.Broken == "start" {
		start = s.terms.At(s.host(p)).Tick
	}
	now := s.host(p)
	wanted := max(s.terms.At(now).Cap, start+s.terms.At(now).Cap-s.terms.At(now).Tick)
	s.ask(p, 2, 0, func() {
		row, ok = s.update(seen.Worker, func(r *lease.Row) bool {
			return leaserule.Claim(r, leaserule.Namespace{Fingerprint: s.fingerprint, Fence: s.fence, Current: s.current},
				lease.Claim{Terms: s.terms, Seen: seen, Fence: fence, Token: token, Wanted: wanted})
		})
	}, func() {
		if !p.alive {
			if ok {
				s.spans = append(s.spans, span{row.Worker, start, max(start, row.Bound)})
			}
			return
		}
		if !ok {
			s.probeLater(p, 10*time.Millisecond<<min(p.attempt, 6))
			return
		}
		p.row, p.start, p.bound, p.attempt, p.fails, p.pending = row, start, max(start, row.Bound), 0, 0, ""
		s.hasID(p)
		s.renewLater(p, p.sent)
	}, func() { s.probeLater(p, 100*time.Millisecond<<min(p.attempt, 3)) }) // the row of a lost claim expires
}

// hasID notes that a process has its first id, if it was granted any.
func (s *sim) hasID(p *process) {
	if !p.issued && p.start < p.bound {
		p.issued = true
		phase := &s.result.Phases[s.phase]
		phase.Starts = append(phase.Starts, s.now-p.started)
	}
}

// renewLater renews the lease when it is due, or as soon as the store can grant the first
// counter, if it has granted none yet. sent is when the last renewal was sent.
func (s *sim) renewLater(p *process, sent time.Duration) {
	wait := s.cfg.Window / 3
	if p.start >= p.bound {
		grantable := s.terms.Epoch + p.start/s.terms.PerTick*s.terms.Unit - s.terms.Ahead
		wait = min(max(time.Duration(grantable-p.row.Now)*time.Microsecond, s.cfg.Window/100), wait)
	}
	worker := p.row.Worker
	s.after(sent+wait-s.now, func() { s.renew(p, worker) })
}

func (s *sim) renew(p *process, worker int64) {
	if !p.alive || p.bound == 0 || p.row.Worker != worker {
		return
	}
	if p.pending == "" {
		p.pending = s.token()
	}
	held, token, sent := p.row, p.pending, s.now
	wanted := max(s.terms.At(s.host(p)).Cap, p.bound, p.start+1)
	var row lease.Row
	var ok bool
	s.ask(p, 2, 0, func() {
		row, ok = s.update(worker, func(r *lease.Row) bool {
			return leaserule.Renew(r, false, lease.Renewal{Terms: s.terms, Held: held, Token: token, Wanted: wanted})
		})
	}, func() {
		switch {
		case !p.alive || p.bound == 0:
		case ok:
			p.row, p.bound, p.pending, p.fails = row, max(p.bound, row.Bound), "", 0
			s.compare(p)
			s.hasID(p)
			s.renewLater(p, sent)
		default:
			s.reread(p, worker)
		}
	}, func() {
		pause := s.cfg.Window / 16
		s.after(pause/2+time.Duration(s.rand.Int64N(int64(pause))), func() { s.reread(p, worker) })
	})
}

// compare corrects the clock of a process whose clock differs from the store's.
func (s *sim) compare(p *process) {
	if off := p.clock - s.clock; off > skew || off < -skew {
		p.clock = s.clock
	}
}

// reread reads the row of a process after a renewal that failed.
func (s *sim) reread(p *process, worker int64) {
	if !p.alive || p.bound == 0 || p.row.Worker != worker {
		return
	}
	var row lease.Row
	s.ask(p, 1, 0, func() { row = s.rows[worker]; row.Now = s.time() }, func() {
		if !p.alive || p.bound == 0 {
			return
		}
		switch {
		case row.Token != p.row.Token && row.Token != p.pending, row.Expires < row.Now:
			s.lose(p)
		case row.Token == p.pending:
			bound := p.row.Bound
			p.row, p.pending = row, ""
			p.row.Bound = bound
			s.renew(p, worker)
		default:
			s.renew(p, worker)
		}
	}, func() { s.after(s.cfg.Window/16, func() { s.reread(p, worker) }) })
}

func (s *sim) lose(p *process) {
	s.died(p)
	p.alive = true
	s.result.Phases[s.phase].Lost++
	s.probe(p, 0)
}

// died records what the lease of a process may have issued: everything that it was
// granted, since it may have been paused, or its clock may have been ahead.
func (s *sim) died(p *process) {
	if p.bound > 0 {
		s.spans = append(s.spans, span{p.row.Worker, p.start, p.bound})
	}
	p.bound, p.pending = 0, ""
}

func (s *sim) kill(p *process) {
	if p.alive {
		s.died(p)
		p.alive = false
		s.running--
	}
}

// close ends a process that releases its worker number.
func (s *sim) close(p *process) {
	if !p.alive {
		return
	}
	p.alive = false
	s.running--
	if p.bound == 0 {
		return
	}
	unused := min(max(p.start, s.terms.At(s.host(p)).Tick), p.bound)
	if p.pending != "" {
		unused = p.bound
	}
	s.spans = append(s.spans, span{p.row.Worker, p.start, unused})
	held, uncertain := p.row, p.pending != ""
	p.bound = 0
	s.ask(p, 2, 0, func() {
		s.update(held.Worker, func(r *lease.Row) bool {
			if uncertain {
				return leaserule.Release(r, held, 1<<63-1)
			}
			return leaserule.Release(r, held, unused)
		})
	}, func() {}, func() {})
}

// overlaps returns how many neighboring spans of a worker number overlap.
func overlaps(spans []span) (n int) {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.first, b.first), cmp.Compare(a.end, b.end))
	})
	var last span
	for i, one := range spans {
		if one.first >= one.end {
			continue
		}
		if i > 0 && last.worker == one.worker && one.first < last.end {
			n++
		}
		if last.worker != one.worker || one.end > last.end {
			last = one
		}
	}
	return n
}

// Markdown returns the table.
func (r Result) Markdown() string {
	var text strings.Builder
	text.WriteString("| phase | processes | fewest free numbers | first id: p50 | p99 | longest | without id at its end | statements a second: mean | peak | leases lost |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.Phases {
		at := func(share float64) string {
			if len(p.Starts) == 0 {
				return "–"
			}
			return fmt.Sprintf("%.2f s", p.Starts[min(int(share*float64(len(p.Starts))), len(p.Starts)-1)].Seconds())
		}
		fmt.Fprintf(&text, "| %s | %d | %d | %s | %s | %s | %d | %d | %d | %d |\n",
			p.Name, p.Running, p.Free, at(0.5), at(0.99), at(1), p.Waiting, p.Mean, p.Peak, p.Lost)
	}
	return text.String()
}
