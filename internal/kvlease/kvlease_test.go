package kvlease_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// A memory is a Backend. Its swap has the faults that a test sets.
type memory struct {
	kvlease.Map
	swap func() // called before the next swap, which is then late

	anyRow, anyMark, anyFingerprint bool // what the swap doesn't compare
}

func newMemory() *memory {
	return &memory{Map: kvlease.Map{Texts: make(map[kvlease.Place]string), Clock: time.Now, Current: "the first"}}
}

var mark = regexp.MustCompile(`"mark":"\w*"`)

func (m *memory) Swap(ctx context.Context, v kvlease.View, grants bool, texts map[int64]string) (bool, error) {
	if late := m.swap; late != nil {
		m.swap = nil
		late()
	}
	if m.anyFingerprint {
		v.Current = m.Current
	}
	for worker := range texts {
		if !m.anyRow && !m.anyMark {
			break // otherwise nothing else is running
		}
		stored := m.Texts[kvlease.PlaceOf(v.Terms, worker)]
		if m.anyRow && worker != kvlease.OfNamespace || m.anyMark && mark.ReplaceAllString(stored, "") == mark.ReplaceAllString(v.Texts[worker], "") {
			v.Texts[worker] = stored
		}
	}
	return m.Map.Swap(ctx, v, grants, texts)
}

func (m *memory) change(_ context.Context, t lease.Terms, worker int64, change func(string) string) error {
	if old, ok := m.Texts[kvlease.PlaceOf(t, worker)]; ok {
		m.Texts[kvlease.PlaceOf(t, worker)] = change(old)
	}
	return nil
}

// A store has the method that package kvlease leaves to its users.
type store struct{ kvlease.Store }

func (*store) Migrate(ctx context.Context) error { return ctx.Err() }

func TestStore(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) lease.Store {
		m := newMemory()
		return kvtest.Operator{Store: &store{kvlease.Store{Backend: m, AtOnce: 100, Pinned: true}}, Change: m.change}
	})
	leasetest.Run(t, func(t *testing.T) lease.Store {
		m := newMemory()
		return kvtest.Operator{Store: &store{kvlease.Store{Backend: m, OneHost: true}}, Change: m.change}
	})
}

var terms = kvtest.Terms

// A scene has a process with a store in which a swap may be late.
type scene struct {
	*kvtest.Process
	memory *memory
}

func newScene(t *testing.T) *scene {
	m := newMemory()
	return &scene{&kvtest.Process{T: t, Store: &store{kvlease.Store{Backend: m}}}, m}
}

// another returns another process with the same store.
func (s *scene) another() *kvtest.Process { return &kvtest.Process{T: s.T, Store: s.Store} }

// later lets time pass.
func (s *scene) later(d time.Duration) {
	old := s.memory.Clock
	s.memory.Clock = func() time.Time { return old().Add(d) }
}

func (s *scene) delete(worker int64) { delete(s.memory.Texts, kvlease.PlaceOf(terms, worker)) }

// A late swap is executed after other processes have done something. Each rule is tested
// with a store that keeps it, and with one that doesn't.
func TestLateSwaps(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		broken func(*memory)
		safe   func(*scene) bool // reports whether nothing is granted again
	}{
		{"a swap compares the row", func(m *memory) { m.anyRow = true }, func(s *scene) bool {
			s.Add()
			s.Lease()
			other := s.another()
			s.memory.swap = func() { // s renews late, so another process has the row
				s.later(time.Hour)
				other.Lease()
			}
			return !s.Renewed(s.Context()) && s.Row().Token == other.Held.Token
		}},
		{"a swap compares the fingerprint", func(m *memory) { m.anyFingerprint = true }, func(s *scene) bool {
			s.Add()
			s.Lease()
			s.memory.swap = func() { // the claim of another, which was granted up to now, is lost in a failover
				s.memory.Current = "the next"
				s.later(time.Hour)
			}
			return !s.Renewed(s.Context())
		}},
		{"a new row is above a row that was added, leased and deleted since the read", func(m *memory) { m.anyMark = true }, func(s *scene) bool {
			errtest.Must(s.CreateNamespace(s.Context(), terms, 0))(s)
			lost := s.another()
			s.memory.swap = func() {
				s.later(time.Hour)
				lost.Add()
				lost.Lease()
				s.delete(7)
			}
			s.Add()
			return s.Lease() >= lost.Held.Bound
		}},
		{"a new namespace is above one that was created and deleted since the read", func(m *memory) { m.anyMark = true }, func(s *scene) bool {
			// Without a mark, update first adds one, so the second swap is the one that creates.
			lost, namespace := s.another(), kvlease.PlaceOf(terms, kvlease.OfNamespace)
			s.memory.swap = func() {
				s.memory.swap = func() {
					empty := s.memory.Texts[namespace]
					s.later(time.Hour)
					lost.Add()
					lost.Lease()
					s.delete(kvlease.OfNamespace)
					s.memory.Texts[namespace] = mark.ReplaceAllString(empty, `"mark":"OTHER"`) // as another process adds it first
				}
			}
			errtest.Must(s.CreateNamespace(s.Context(), terms, 0))(s)
			return s.Look().Fence >= lost.Held.Bound
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, broken := range []bool{false, true} {
				s := newScene(t)
				if broken {
					tt.broken(s.memory)
				}
				if safe := tt.safe(s); safe == broken {
					t.Errorf("with a store that is broken, %v: safe, %v", broken, safe)
				}
			}
		})
	}
}

// A fence that is raised during a claim is noticed.
func TestFenceDuringAClaim(t *testing.T) {
	s := newScene(t)
	s.Add()
	c := s.ClaimOf(s.Look())
	s.memory.swap = func() {
		wider := terms
		wider.Ahead *= 2
		s.Must(s.Fence(t.Context(), wider, ""))
	}
	if _, ok, err := s.Claim(t.Context(), c); ok || err != nil {
		t.Errorf("a claim below the fence: %v, %v", ok, err)
	}
}

// If a namespace's text is deleted, or loses its layouts, the next renewal lists the layout again,
// so that no process adds another one that can make the same ids.
func TestDeletedNamespace(t *testing.T) {
	for _, text := range []string{"", `{"version":2,"mark":"M","next":0,"layouts":null}`} {
		s := newScene(t)
		s.Add()
		s.Lease()
		s.memory.Texts[kvlease.PlaceOf(terms, kvlease.OfNamespace)] = text
		renewed := s.Renewed(t.Context())
		layouts, _, err := s.Layouts(t.Context(), terms.Namespace)
		if !renewed || err != nil || !slices.Equal(layouts, []string{terms.Layout}) || s.Look().HasNamespace {
			t.Errorf("with %q: renewed %v, and the layouts are %q, %v", text, renewed, layouts, err)
		}
	}
}

// All calls refuse a text that is damaged or has another version, and leave it as it is.
func TestStrangeTexts(t *testing.T) {
	s := newScene(t)
	s.Add()
	ctx, m, seen := t.Context(), s.memory, s.Row()
	for text, want := range map[string]any{"x": new(*lease.PermanentError), `{"version":1}`: new(*lease.VersionError)} {
		for _, worker := range []int64{7, kvlease.OfNamespace} {
			before := m.Texts[kvlease.PlaceOf(terms, worker)]
			m.Texts[kvlease.PlaceOf(terms, worker)] = text
			errs := make(map[string]error)
			_, errs["Probe"] = s.Probe(ctx, lease.Query{Terms: terms, Max: 7, PreferWorker: -1})
			_, errs["Rows"] = s.Rows(ctx, terms, 7, 7)
			_, _, errs["Claim"] = s.Claim(ctx, lease.Claim{Terms: terms, Seen: seen, Token: "A"})
			_, _, errs["Renew"] = s.Renew(ctx, lease.Renewal{Terms: terms, Held: seen, Token: "A"})
			_, errs["Release"] = s.Release(ctx, terms, seen, 0)
			if worker == kvlease.OfNamespace {
				_, _, errs["Layouts"] = s.Layouts(ctx, terms.Namespace)
				_, errs["CreateNamespace"] = s.CreateNamespace(ctx, terms, 7)
				errs["Fence"] = s.Fence(ctx, terms, "")
				errs["AddRows"] = s.AddRows(ctx, terms, 1, 1)
			}
			for name, err := range errs {
				if !errors.As(err, want) || !strings.Contains(err.Error(), "the text") {
					t.Errorf("%s of worker %d with the text %q: %v", name, worker, text, err)
				}
			}
			if now := m.Texts[kvlease.PlaceOf(terms, worker)]; now != text {
				t.Errorf("%q became %q", text, now)
			}
			m.Texts[kvlease.PlaceOf(terms, worker)] = before
		}
	}
}

// If other processes always win, a call gives up.
func TestAlwaysLate(t *testing.T) {
	s := newScene(t)
	s.Add()
	n := 0
	var before func()
	before = func() {
		n++
		s.Must(s.Fence(t.Context(), terms, ""))
		s.memory.swap = before
	}
	s.memory.swap = before
	if err := s.AddRows(t.Context(), terms, 1, 1); err == nil || n < 2 || !strings.Contains(err.Error(), "try again") {
		t.Errorf("after %d swaps: %v", n, err)
	}
}
