package leasetest

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A Memory is a [lease.Store] in memory, whose clock, faults and losses a test
// controls. It starts no goroutine and waits for nothing but the ctx of a call
// that is told to hang, so that it works in the bubbles of testing/synctest.
//
// The zero value is an empty store. A Memory is safe for concurrent use.
type Memory struct {
	// Clock is the store's clock, which need not be the host's. It is read under
	// the store's lock and must not be set once the store is in use. Defaults to
	// time.Now.
	Clock func() time.Time

	mu    sync.Mutex
	fault func(op string) Fault
	calls map[string]int
	late  []func()

	current  string // the fingerprint of the database; "" is the first one
	volatile bool
	content
}

// content is what a database would keep on its disk.
type content struct {
	namespaces map[string]namespace
	rows       map[key]lease.Row
}

type namespace struct {
	layout, fingerprint string
	fence               int64
}

type key struct {
	namespace string
	worker    int64
}

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
func (m *Memory) Migrate(ctx context.Context) error {
	_, err := call(ctx, m, "Migrate", func() struct{} { return struct{}{} })
	return err
}

// Found implements [lease.Store].
func (m *Memory) Found(ctx context.Context, ns string, terms lease.Terms) error {
	_, err := call(ctx, m, "Found", func() struct{} {
		if _, ok := m.namespaces[ns]; !ok {
			m.setNamespace(ns, namespace{terms.Layout, m.fingerprint(), terms.Cap(m.now())})
		}
		return struct{}{}
	})
	return err
}

// Probe implements [lease.Store].
func (m *Memory) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	return call(ctx, m, "Probe", func() lease.Probe {
		now := m.now()
		n, founded := m.namespaces[q.Namespace]
		p := lease.Probe{
			Founded: founded, Layout: n.layout, Fence: n.fence, Fingerprint: n.fingerprint,
			Current: m.fingerprint(), Volatile: m.volatile, Now: now, Unborn: m.unborn(q),
		}
		rank := func(r lease.Row) int {
			switch {
			case q.Prefer != "" && r.Label == q.Prefer:
				return 0
			case r.Bound <= q.Terms.Counter(now):
				return 1
			}
			return 2
		}
		rows := slices.DeleteFunc(m.list(q.Namespace, q.Min, q.Max), func(r lease.Row) bool { return !r.Free() })
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if p.Found = len(rows) > 0; p.Found {
			p.Free = slices.MinFunc(rows, func(a, b lease.Row) int { return cmp.Compare(rank(a), rank(b)) })
		}
		return p
	})
}

// unborn returns the first worker without a row, from a random one on.
func (m *Memory) unborn(q lease.Query) int64 {
	n := max(q.Max-q.Min+1, 1)
	for i, start := int64(0), rand.Int64N(n); i < n; i++ {
		worker := q.Min + (start+i)%n
		if _, ok := m.rows[key{q.Namespace, worker}]; !ok {
			return worker
		}
	}
	return -1
}

// Fence implements [lease.Store].
func (m *Memory) Fence(ctx context.Context, ns, seen string, terms lease.Terms) error {
	_, err := call(ctx, m, "Fence", func() struct{} {
		n, ok := m.namespaces[ns]
		if ok && (seen == "" || seen == n.fingerprint) {
			m.setNamespace(ns, namespace{n.layout, m.fingerprint(), max(n.fence, terms.Cap(m.now()))})
		}
		return struct{}{}
	})
	return err
}

// Bear implements [lease.Store].
func (m *Memory) Bear(ctx context.Context, ns string, worker int64, terms lease.Terms) error {
	_, err := call(ctx, m, "Bear", func() struct{} {
		if _, ok := m.rows[key{ns, worker}]; !ok {
			m.setRow(ns, lease.Row{Worker: worker, Bound: terms.Cap(m.now())})
		}
		return struct{}{}
	})
	return err
}

// Claim implements [lease.Store].
func (m *Memory) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	return m.update(ctx, "Claim", c.Namespace, c.Seen, func(r *lease.Row) bool {
		n, ok := m.namespaces[c.Namespace]
		if !ok || n.layout != c.Terms.Layout || n.fence != c.Fence || n.fingerprint != m.fingerprint() || !r.Free() {
			return false
		}
		grant(r, c.Terms, c.Token, c.Wanted)
		r.Label = c.Label
		return true
	})
}

// Renew implements [lease.Store].
func (m *Memory) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return m.update(ctx, "Renew", r.Namespace, r.Held, func(row *lease.Row) bool {
		if row.Free() {
			return false
		}
		grant(row, r.Terms, r.Token, r.Wanted)
		return true
	})
}

// Release implements [lease.Store].
func (m *Memory) Release(ctx context.Context, r lease.Release) (bool, error) {
	_, ok, err := m.update(ctx, "Release", r.Namespace, r.Held, func(row *lease.Row) bool {
		row.Token = ""
		row.Bound = min(row.Bound, r.Unused)
		row.Expires = row.Now
		return true
	})
	return ok, err
}

// Rows implements [lease.Store].
func (m *Memory) Rows(ctx context.Context, ns string, min, max int64) ([]lease.Row, error) {
	return call(ctx, m, "Rows", func() []lease.Row { return m.list(ns, min, max) })
}

// update changes a row that is as it was seen.
func (m *Memory) update(ctx context.Context, op, ns string, seen lease.Row, change func(*lease.Row) bool) (lease.Row, bool, error) {
	type answer struct {
		row lease.Row
		ok  bool
	}
	a, err := call(ctx, m, op, func() answer {
		row, ok := m.rows[key{ns, seen.Worker}]
		row.Now = m.now()
		if !ok || row.Token != seen.Token || row.Revision != seen.Revision || !change(&row) {
			return answer{}
		}
		row.Revision++
		m.setRow(ns, row)
		return answer{row, true}
	})
	return a.row, a.ok, err
}

func grant(r *lease.Row, terms lease.Terms, token string, wanted int64) {
	r.Token = token
	r.Bound = max(r.Bound, min(wanted, terms.Cap(r.Now)))
	r.Expires = r.Now + terms.TTL
}

// list returns rows as of now, by number.
func (m *Memory) list(ns string, min, max int64) []lease.Row {
	var rows []lease.Row
	for k, r := range m.rows {
		if k.namespace == ns && min <= k.worker && k.worker <= max {
			r.Now = m.now()
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b lease.Row) int { return cmp.Compare(a.Worker, b.Worker) })
	return rows
}

func (m *Memory) setNamespace(name string, n namespace) {
	if m.namespaces == nil {
		m.namespaces = make(map[string]namespace)
	}
	m.namespaces[name] = n
}

func (m *Memory) setRow(ns string, r lease.Row) {
	if m.rows == nil {
		m.rows = make(map[key]lease.Row)
	}
	m.rows[key{ns, r.Worker}] = r
}

func (m *Memory) fingerprint() string { return cmp.Or(m.current, "the first") }

// SetCurrent changes the fingerprint of the database, as a failover does.
func (m *Memory) SetCurrent(fingerprint string) { m.locked(func() { m.current = fingerprint }) }

// SetVolatile has further probes say whether commits may be lost unnoticed.
func (m *Memory) SetVolatile(volatile bool) { m.locked(func() { m.volatile = volatile }) }

// A Snapshot is what a [Memory] held at one time.
type Snapshot struct{ content }

// Snapshot returns what the store holds now.
func (m *Memory) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Snapshot{m.copy()}
}

// Restore has the store forget all commits since s was taken. The fingerprint
// of the database stays: SetCurrent changes it, if that is to be noticed.
func (m *Memory) Restore(s Snapshot) { m.locked(func() { m.content = s.copy() }) }

func (c content) copy() content {
	return content{maps.Clone(c.namespaces), maps.Clone(c.rows)}
}

// Delete implements [Operator].
func (m *Memory) Delete(_ context.Context, ns string, worker int64) error {
	m.locked(func() { delete(m.rows, key{ns, worker}) })
	return nil
}

// Edit implements [Operator].
func (m *Memory) Edit(_ context.Context, ns string, row lease.Row) error {
	m.locked(func() {
		if _, ok := m.rows[key{ns, row.Worker}]; ok {
			m.setRow(ns, row)
		}
	})
	return nil
}

// SetFingerprint implements [Operator].
func (m *Memory) SetFingerprint(_ context.Context, ns, fingerprint string) error {
	m.locked(func() {
		n, ok := m.namespaces[ns]
		if n.fingerprint = fingerprint; ok {
			m.setNamespace(ns, n)
		}
	})
	return nil
}
