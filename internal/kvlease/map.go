package kvlease

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A Map is a [Backend] in the memory of this process. The zero value is empty. Its methods
// are safe for concurrent use, but its fields must not be changed meanwhile.
type Map struct {
	Texts    map[Place]string
	Clock    func() time.Time // time.Now if nil
	Current  string           // the fingerprint; "the first" if empty
	Volatile bool             // see [lease.Probe]

	mu sync.Mutex
}

// A Place is where a [Map] has a text.
type Place struct {
	Namespace, Layout string
	Worker            int64
}

// PlaceOf returns the place of a worker's text, or that of the namespace's.
func PlaceOf(t lease.Terms, worker int64) Place {
	if worker == OfNamespace {
		return Place{t.Namespace, "", worker}
	}
	return Place{t.Namespace, t.Layout, worker}
}

// Read implements [Backend].
func (m *Map) Read(ctx context.Context, terms lease.Terms, _, _ int64) (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clock := m.Clock
	if clock == nil {
		clock = time.Now
	}
	v := View{
		Terms: terms, Now: clock().UnixMicro(), Current: m.fingerprint(), Volatile: m.Volatile,
		Texts: make(map[int64]string),
		Where: func(int64) string { return "the text" },
	}
	for p, text := range m.Texts {
		if p == PlaceOf(terms, p.Worker) {
			v.Texts[p.Worker] = text
		}
	}
	return v, ctx.Err()
}

// Swap implements [Backend].
func (m *Map) Swap(ctx context.Context, v View, _ bool, texts map[int64]string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil || v.Current != m.fingerprint() {
		return false, err
	}
	for worker := range texts {
		if m.Texts[PlaceOf(v.Terms, worker)] != v.Texts[worker] {
			return false, nil
		}
	}
	if m.Texts == nil {
		m.Texts = make(map[Place]string)
	}
	for worker, text := range texts {
		m.Texts[PlaceOf(v.Terms, worker)] = text
	}
	return true, nil
}

func (m *Map) fingerprint() string { return cmp.Or(m.Current, "the first") }
