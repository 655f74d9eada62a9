package kvtest

import (
	"context"
	"errors"

	"github.com/snowkey-go/snowkey/internal/kvlease"
)

// ErrFault is returned by a [Memory] when the test has set a fault for the call.
var ErrFault = errors.New("kvtest: the store failed, as the test demands")

// A Fault describes what goes wrong with one call of a [Memory].
type Fault uint8

// If a call hangs, it waits until its ctx ends, and then returns ctx's error.
const (
	None      Fault = iota // the call succeeds
	Refuse                 // the call fails and has no effect
	LoseReply              // the call has its effect, but fails
	Hang                   // the call hangs and has no effect
	HangAfter              // the call has its effect and then hangs
	Late                   // the call hangs, and only has its effect when Deliver is called
)

// call2 runs method, which is the method op of the store, unless this call's fault prevents
// it.
func call2[A, B any](ctx context.Context, m *Memory, op string, method func(*kvlease.Store) (A, B, error)) (a A, b B, err error) {
	var done struct {
		a   A
		b   B
		err error
	}
	effect := func() { done.a, done.b, done.err = method(m.store()) }
	fault := m.begin(op)
	if ctx.Err() != nil {
		return a, b, ctx.Err()
	}
	switch fault {
	case None, LoseReply, HangAfter:
		m.locked(effect)
	case Late:
		m.locked(func() { m.late = append(m.late, effect) })
	}
	switch fault {
	case None:
		return done.a, done.b, done.err
	case Refuse, LoseReply:
		return a, b, ErrFault
	}
	<-ctx.Done()
	return a, b, ctx.Err()
}

// call is call2 for a method that returns only one value and an error.
func call[T any](ctx context.Context, m *Memory, op string, method func(*kvlease.Store) (T, error)) (T, error) {
	value, _, err := call2(ctx, m, op, func(s *kvlease.Store) (T, struct{}, error) {
		value, err := method(s)
		return value, struct{}{}, err
	})
	return value, err
}

// begin counts a call and returns its fault.
func (m *Memory) begin(op string) Fault {
	m.mu.Lock()
	if m.calls == nil {
		m.calls = make(map[string]int)
	}
	m.calls[op]++
	fault := m.fault
	m.mu.Unlock()
	if fault == nil {
		return None
	}
	return fault(op)
}

func (m *Memory) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// Fault sets a function that chooses the fault for each later call; nil means no faults.
// The op is the name of the method, e.g. "Renew". Memory calls f before the call takes
// effect and without holding a lock, so f may sleep to simulate a slow store.
func (m *Memory) Fault(f func(op string) Fault) { m.locked(func() { m.fault = f }) }

// Deliver executes all requests whose fault was [Late], in the order they were sent.
func (m *Memory) Deliver() {
	m.locked(func() {
		for _, effect := range m.late {
			effect()
		}
		m.late = nil
	})
}

// Calls returns how often the method op has been called, including failed calls.
func (m *Memory) Calls(op string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[op]
}
