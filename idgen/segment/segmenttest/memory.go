package segmenttest

import (
	"context"
	"errors"
	"sync"

	"github.com/snowkey-go/snowkey/idgen/segment"
)

// A Memory is an in-memory [segment.Store] that lets a test cause faults and losses. It
// starts no goroutine, and no call blocks, except that one with the fault Hang or
// HangAfter blocks until its ctx ends. A Memory can therefore be used in the bubbles of
// testing/synctest.
//
// The zero value is an empty store. A Memory is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	bounds  map[string]int64
	fetches []segment.Fetch
	fault   func() Fault
}

var _ segment.Store = (*Memory)(nil)

// ErrFault is returned by a [Memory] because the test asked for a fault.
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

// Fault sets the function that chooses the fault of each further call to Fetch. If f is
// nil, there are no faults. f is called before the call takes effect and without a lock
// held, so it may sleep to make the store slow.
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
		start = m.grant(f)
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

func (m *Memory) grant(f segment.Fetch) (start int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	start = min(max(m.bounds[f.Name], f.Min), f.Limit)
	if start < f.Limit {
		m.set(f.Name, f.End(start))
	}
	return start
}

func (m *Memory) set(name string, bound int64) {
	if m.bounds == nil {
		m.bounds = make(map[string]int64)
	}
	m.bounds[name] = bound
}

// Fetches returns the requests passed to Fetch so far, including those that failed.
func (m *Memory) Fetches() []segment.Fetch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]segment.Fetch(nil), m.fetches...)
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
