package kvlease

import (
	"cmp"
	"context"
	"maps"
	"slices"
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

// Layouts implements [Backend].
func (m *Map) Layouts(_ context.Context, namespace string) (layouts []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.Texts {
		if p.Namespace == namespace && p.Worker != OfNamespace {
			layouts = append(layouts, p.Layout)
		}
	}
	return layouts, nil
}

// Read implements [Backend].
func (m *Map) Read(ctx context.Context, terms lease.Terms, least, most int64) (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clock := m.Clock
	if clock == nil {
		clock = time.Now
	}
	item := func(worker int64) Item {
		return Item{Worker: worker, Value: m.Texts[PlaceOf(terms, worker)], Where: "the text"}
	}
	v := View{Terms: terms, Now: clock().UnixMicro(), Current: m.fingerprint(), Volatile: m.Volatile, Namespace: item(OfNamespace)}
	for p := range m.Texts {
		if p == PlaceOf(terms, p.Worker) && least <= p.Worker && p.Worker <= most {
			v.Rows = append(v.Rows, item(p.Worker))
		}
	}
	slices.SortFunc(v.Rows, func(a, b Item) int { return cmp.Compare(a.Worker, b.Worker) })
	return v, ctx.Err()
}

// Swap implements [Backend].
func (m *Map) Swap(ctx context.Context, v View, _ bool, changes ...Change) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil || v.Current != m.fingerprint() {
		return false, err
	}
	changed := make(map[Place]string)
	for _, c := range changes {
		place := PlaceOf(v.Terms, c.Worker)
		if m.Texts[place] != c.Value {
			return false, nil
		}
		changed[place] = c.New
	}
	if m.Texts == nil {
		m.Texts = make(map[Place]string)
	}
	maps.Copy(m.Texts, changed)
	return true, nil
}

func (m *Map) fingerprint() string { return cmp.Or(m.Current, "the first") }
