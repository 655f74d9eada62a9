package kvtest

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/kvlease"
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
	calls map[string]int
	late  []func()

	kept kvlease.Map
}

var _ lease.Store = (*Memory)(nil)

// store returns the store of what is kept. The caller must hold mu.
func (m *Memory) store() *kvlease.Store {
	m.kept.Clock = m.Clock
	return &kvlease.Store{Backend: &m.kept, AtOnce: math.MaxInt32}
}

// always never ends: a request that was sent has its effect even if its sender has given up.
var always = context.Background()

// Migrate does nothing.
func (m *Memory) Migrate(ctx context.Context) error {
	return m.do(ctx, "Migrate", func(*kvlease.Store) error { return nil })
}

// Layouts implements [lease.Store].
func (m *Memory) Layouts(ctx context.Context, namespace string) ([]string, int64, error) {
	return call2(ctx, m, "Layouts", func(s *kvlease.Store) ([]string, int64, error) { return s.Layouts(always, namespace) })
}

// CreateNamespace implements [lease.Store].
func (m *Memory) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (bool, error) {
	return call(ctx, m, "CreateNamespace", func(s *kvlease.Store) (bool, error) { return s.CreateNamespace(always, terms, position) })
}

// Probe implements [lease.Store].
func (m *Memory) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	return call(ctx, m, "Probe", func(s *kvlease.Store) (lease.Probe, error) { return s.Probe(always, q) })
}

// Fence implements [lease.Store].
func (m *Memory) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return m.do(ctx, "Fence", func(s *kvlease.Store) error { return s.Fence(always, terms, seen) })
}

// AddRows implements [lease.Store].
func (m *Memory) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	return m.do(ctx, "AddRows", func(s *kvlease.Store) error { return s.AddRows(always, terms, least, most) })
}

// Claim implements [lease.Store].
func (m *Memory) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	return call2(ctx, m, "Claim", func(s *kvlease.Store) (lease.Row, bool, error) { return s.Claim(always, c) })
}

// Renew implements [lease.Store].
func (m *Memory) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return call2(ctx, m, "Renew", func(s *kvlease.Store) (lease.Row, bool, error) { return s.Renew(always, r) })
}

// Release implements [lease.Store].
func (m *Memory) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	return call(ctx, m, "Release", func(s *kvlease.Store) (bool, error) { return s.Release(always, terms, held, unused) })
}

// Rows implements [lease.Store].
func (m *Memory) Rows(ctx context.Context, terms lease.Terms, min, max int64) ([]lease.Row, error) {
	return call(ctx, m, "Rows", func(s *kvlease.Store) ([]lease.Row, error) { return s.Rows(always, terms, min, max) })
}

// Examine implements [lease.Store]. It returns no findings.
func (m *Memory) Examine(ctx context.Context) ([]lease.Finding, error) {
	return nil, m.do(ctx, "Examine", func(*kvlease.Store) error { return nil })
}

// do runs a method that returns only an error.
func (m *Memory) do(ctx context.Context, op string, method func(*kvlease.Store) error) error {
	_, err := call(ctx, m, op, func(s *kvlease.Store) (struct{}, error) { return struct{}{}, method(s) })
	return err
}

// SetCurrent changes the fingerprint of the database, as a failover does.
func (m *Memory) SetCurrent(fingerprint string) { m.locked(func() { m.kept.Current = fingerprint }) }

// SetVolatile sets whether, from now on, the store may lose commits without a new
// fingerprint. Later probes report this.
func (m *Memory) SetVolatile(volatile bool) { m.locked(func() { m.kept.Volatile = volatile }) }

// A Snapshot contains everything in a [Memory] at one point in time.
type Snapshot struct{ texts map[kvlease.Place]string }

// Snapshot returns what the store holds now.
func (m *Memory) Snapshot() (s Snapshot) {
	m.locked(func() { s.texts = maps.Clone(m.kept.Texts) })
	return s
}

// Restore makes the store lose all commits since s was taken. The database's fingerprint
// stays the same, so call SetCurrent as well if keepers should be able to detect the
// loss.
func (m *Memory) Restore(s Snapshot) { m.locked(func() { m.kept.Texts = maps.Clone(s.texts) }) }

// Delete deletes the row of a worker.
func (m *Memory) Delete(_ context.Context, terms lease.Terms, worker int64) error {
	m.locked(func() { delete(m.kept.Texts, kvlease.PlaceOf(terms, worker)) })
	return nil
}

// Edit implements leasetest.Operator.
func (m *Memory) Edit(ctx context.Context, terms lease.Terms, row lease.Row) error {
	return m.operator().Edit(ctx, terms, row)
}

// DeleteNamespace implements leasetest.Operator.
func (m *Memory) DeleteNamespace(ctx context.Context, terms lease.Terms) error {
	return m.operator().DeleteNamespace(ctx, terms)
}

// SetFingerprint implements leasetest.Operator.
func (m *Memory) SetFingerprint(ctx context.Context, terms lease.Terms, fingerprint string) error {
	return m.operator().SetFingerprint(ctx, terms, fingerprint)
}

// operator returns an operator that changes the texts.
func (m *Memory) operator() Operator {
	return Operator{Change: func(_ context.Context, terms lease.Terms, worker int64, change func(string) string) error {
		m.locked(func() {
			place := kvlease.PlaceOf(terms, worker)
			if text := m.kept.Texts[place]; text != "" {
				m.kept.Texts[place] = change(text)
			}
		})
		return nil
	}}
}
