package segmenttest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/snowkey-go/snowkey/idgen/segment"
)

// A Memory is an in-memory [segment.Store] that lets tests cause faults and losses. It
// doesn't start goroutines, and calls only block for the faults Hang and HangAfter, until
// their ctx ends. This means you can use a Memory in a testing/synctest bubble.
//
// The zero value is an empty store. A Memory is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	bounds  map[string]int64
	fetches []segment.Fetch
	fault   func() Fault
}

var _ segment.Store = (*Memory)(nil)

// ErrFault is returned by a [Memory] when the test has asked for a fault.
var ErrFault = errors.New("segmenttest: the store failed, as the test demands")

// A Fault says what goes wrong in a call to a [Memory].
type Fault uint8

// The faults. A call that hangs blocks until its ctx ends, and then returns the error
// of ctx.
const (
	None      Fault = iota // the call succeeds
	Refuse                 // the call fails and grants nothing
	LoseReply              // the call grants numbers, but returns an error
	Hang                   // the call hangs and grants nothing
	HangAfter              // the call grants numbers and then hangs
)

// Fault sets a function that chooses the fault for each later call to Fetch; nil means no
// faults. It's called before the call takes effect and without holding a lock, so f may
// sleep to simulate a slow store.
func (m *Memory) Fault(f func() Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

// Fetch implements [segment.Store].
func (m *Memory) Fetch(ctx context.Context, f segment.Fetch) (start int64, err error) {
	m.mu.Lock()
	m.fetches = append(m.fetches, f)
	fault := m.fault
	m.mu.Unlock()
	kind := None
	if fault != nil {
		kind = fault()
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if kind != Refuse && kind != Hang {
		m.mu.Lock()
		if start = min(max(m.bounds[f.Name], f.Min), f.Limit); start < f.Limit {
			m.set(f.Name, f.End(start))
		}
		m.mu.Unlock()
	}
	switch kind {
	case Refuse, LoseReply:
		return 0, ErrFault
	case Hang, HangAfter:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return start, nil
}

func (m *Memory) set(name string, bound int64) {
	if m.bounds == nil {
		m.bounds = make(map[string]int64)
	}
	m.bounds[name] = bound
}

// Fetches returns the requests passed to Fetch so far, including failed ones.
func (m *Memory) Fetches() []segment.Fetch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.fetches)
}

// Bound returns the bound of a name, or 0 if the name has none.
func (m *Memory) Bound(name string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bounds[name]
}

// SetBound overwrites the bound of a name, as restoring a backup would.
func (m *Memory) SetBound(name string, bound int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(name, bound)
}
