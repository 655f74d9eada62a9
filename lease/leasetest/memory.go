package leasetest

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/lease"
)

// A Memory is an in-memory [lease.Store]. Tests can set its clock, make calls fail, and
// choose which commits get lost. It doesn't start goroutines, and waits only if a [Fault]
// makes a call hang until its ctx ends, which means you can use it in a testing/synctest
// bubble.
//
// The zero value is an empty store, ready to use. A Memory is safe for concurrent use.
type Memory struct {
	// Clock is the store's clock, which may differ from the host's. It's called with the
	// store's lock held, and must not be set once the store is in use. Defaults to
	// time.Now.
	Clock func() time.Time

	mu    sync.Mutex
	fault func(op string) Fault
	after func(op string)
	calls map[string]int
	late  []func()

	current  string // the fingerprint of the database; "" is the first one
	volatile bool
	content
}

// content is what a database would keep on disk.
type content struct {
	spaces map[space]created
	rows   map[key]lease.Row
}

type space struct{ namespace, layout string }

type created struct {
	fingerprint string
	fence       int64
	position    int64
}

type key struct {
	space
	worker int64
}

func of(t lease.Terms) space { return space{t.Namespace, t.Layout} }

var (
	_ lease.Store = (*Memory)(nil)
	_ Operator    = (*Memory)(nil)
)

func (m *Memory) now() int64 {
	if m.Clock == nil {
		return time.Now().UnixMicro()
	}
	return m.Clock().UnixMicro()
}

// Migrate does nothing.
func (m *Memory) Migrate(ctx context.Context) error { return m.do(ctx, "Migrate", func() {}) }

// Layouts implements [lease.Store].
func (m *Memory) Layouts(ctx context.Context, ns string) (layouts []string, position int64, err error) {
	err = m.do(ctx, "Layouts", func() { layouts, position = m.layouts(ns), m.position(ns) })
	return layouts, position, err
}

// position returns the position of the next layout.
func (m *Memory) position(ns string) (position int64) {
	for s, c := range m.spaces {
		if s.namespace == ns {
			position = max(position, c.position+1)
		}
	}
	return position
}

func (m *Memory) layouts(ns string) []string {
	layouts := make(map[string]bool)
	for s := range m.spaces {
		layouts[s.layout] = layouts[s.layout] || s.namespace == ns
	}
	for k := range m.rows {
		layouts[k.layout] = layouts[k.layout] || k.namespace == ns
	}
	maps.DeleteFunc(layouts, func(_ string, here bool) bool { return !here })
	return slices.Sorted(maps.Keys(layouts))
}

// CreateNamespace implements [lease.Store].
func (m *Memory) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (done bool, err error) {
	err = m.do(ctx, "CreateNamespace", func() {
		if _, ok := m.spaces[of(terms)]; !ok && m.position(terms.Namespace) <= position {
			done = true
			m.set(of(terms), created{fingerprint: m.fingerprint(), fence: terms.At(m.now()).NewFence, position: position})
		}
	})
	return done && err == nil, err
}

// Probe implements [lease.Store].
func (m *Memory) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	return call(ctx, m, "Probe", func() lease.Probe {
		now := m.now()
		f, ok := m.spaces[of(q.Terms)]
		p := lease.Probe{
			HasNamespace: ok, Fence: f.fence, Fingerprint: f.fingerprint,
			Current: m.fingerprint(), Volatile: m.volatile, Now: now, LastWorker: q.Min - 1,
		}
		rows := m.list(q.Terms, q.Min, q.Max)
		if len(rows) > 0 {
			p.LastWorker = rows[len(rows)-1].Worker
		}
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		p.Row, p.HasRow = leaserule.Choose(rows, q)
		p.HasFree = p.HasRow && q.Terms.Free(p.Row)
		return p
	})
}

// Fence implements [lease.Store].
func (m *Memory) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return m.do(ctx, "Fence", func() {
		f, ok := m.spaces[of(terms)]
		if ok && (seen == "" || seen == f.fingerprint) {
			f.fingerprint, f.fence = m.fingerprint(), max(f.fence, terms.At(m.now()).RaisedFence)
			m.set(of(terms), f)
		}
	})
}

// AddRows implements [lease.Store].
func (m *Memory) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	return m.do(ctx, "AddRows", func() {
		bound := terms.At(m.now()).RaisedFence
		if _, ok := m.spaces[of(terms)]; !ok {
			bound = terms.At(m.now()).NewFence
		}
		for worker := least; worker <= most; worker++ {
			if _, ok := m.rows[key{of(terms), worker}]; !ok {
				m.setRow(of(terms), lease.Row{Worker: worker, Bound: bound})
			}
		}
	})
}

// Claim implements [lease.Store].
func (m *Memory) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	return m.update(ctx, "Claim", c.Terms, c.Seen.Worker, func(r *lease.Row) bool {
		f := m.spaces[of(c.Terms)]
		return leaserule.Claim(r, leaserule.Namespace{
			Fingerprint: f.fingerprint, Fence: f.fence, Current: m.fingerprint(), Volatile: m.volatile,
		}, c)
	})
}

// Renew implements [lease.Store].
func (m *Memory) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return m.update(ctx, "Renew", r.Terms, r.Held.Worker, func(row *lease.Row) bool {
		return leaserule.Renew(row, m.volatile, r)
	})
}

// Release implements [lease.Store].
func (m *Memory) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := m.update(ctx, "Release", terms, held.Worker, func(row *lease.Row) bool {
		return leaserule.Release(row, held, unused)
	})
	return ok, err
}

// Rows implements [lease.Store].
func (m *Memory) Rows(ctx context.Context, terms lease.Terms, min, max int64) ([]lease.Row, error) {
	return call(ctx, m, "Rows", func() []lease.Row { return m.list(terms, min, max) })
}

// Examine implements [lease.Store]. It returns no findings.
func (m *Memory) Examine(ctx context.Context) ([]lease.Finding, error) {
	return nil, m.do(ctx, "Examine", func() {})
}

// do runs a method that returns only an error.
func (m *Memory) do(ctx context.Context, op string, effect func()) error {
	_, err := call(ctx, m, op, func() struct{} { effect(); return struct{}{} })
	return err
}

// update changes the row of a worker, if it has one.
func (m *Memory) update(ctx context.Context, op string, terms lease.Terms, worker int64, change func(*lease.Row) bool) (lease.Row, bool, error) {
	type answer struct {
		row lease.Row
		ok  bool
	}
	a, err := call(ctx, m, op, func() answer {
		row, ok := m.rows[key{of(terms), worker}]
		row.Now = m.now()
		if !ok || !change(&row) {
			return answer{}
		}
		m.setRow(of(terms), row)
		return answer{row, true}
	})
	return a.row, a.ok, err
}

// list returns the current rows, ordered by worker.
func (m *Memory) list(terms lease.Terms, min, max int64) []lease.Row {
	var rows []lease.Row
	for k, r := range m.rows {
		if k.space == of(terms) && min <= k.worker && k.worker <= max {
			r.Now = m.now()
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b lease.Row) int { return cmp.Compare(a.Worker, b.Worker) })
	return rows
}

func (m *Memory) set(s space, f created) {
	if m.spaces == nil {
		m.spaces = make(map[space]created)
	}
	m.spaces[s] = f
}

func (m *Memory) setRow(s space, r lease.Row) {
	if m.rows == nil {
		m.rows = make(map[key]lease.Row)
	}
	m.rows[key{s, r.Worker}] = r
}

func (m *Memory) fingerprint() string { return cmp.Or(m.current, "the first") }

// SetCurrent changes the fingerprint of the database, as a failover does.
func (m *Memory) SetCurrent(fingerprint string) { m.locked(func() { m.current = fingerprint }) }

// SetVolatile sets whether, from now on, the store may lose commits without a new
// fingerprint. Later probes report this.
func (m *Memory) SetVolatile(volatile bool) { m.locked(func() { m.volatile = volatile }) }

// A Snapshot contains everything in a [Memory] at one point in time.
type Snapshot struct{ content }

// Snapshot returns what the store holds now.
func (m *Memory) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Snapshot{m.copy()}
}

// Restore makes the store lose all commits since s was taken. The database's fingerprint
// stays the same, so call SetCurrent as well if keepers should be able to detect the
// loss.
func (m *Memory) Restore(s Snapshot) { m.locked(func() { m.content = s.copy() }) }

func (c content) copy() content {
	return content{maps.Clone(c.spaces), maps.Clone(c.rows)}
}

// Delete deletes the row of a worker.
func (m *Memory) Delete(_ context.Context, terms lease.Terms, worker int64) error {
	m.locked(func() { delete(m.rows, key{of(terms), worker}) })
	return nil
}

// Edit implements [Operator].
func (m *Memory) Edit(_ context.Context, terms lease.Terms, row lease.Row) error {
	m.locked(func() {
		if _, ok := m.rows[key{of(terms), row.Worker}]; ok {
			m.setRow(of(terms), row)
		}
	})
	return nil
}

// DeleteNamespace implements [Operator].
func (m *Memory) DeleteNamespace(_ context.Context, terms lease.Terms) error {
	m.locked(func() { delete(m.spaces, of(terms)) })
	return nil
}

// SetFingerprint implements [Operator].
func (m *Memory) SetFingerprint(_ context.Context, terms lease.Terms, fingerprint string) error {
	m.locked(func() {
		f, ok := m.spaces[of(terms)]
		if f.fingerprint = fingerprint; ok {
			m.set(of(terms), f)
		}
	})
	return nil
}
