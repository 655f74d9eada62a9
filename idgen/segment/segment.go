package segment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// maxBatch prevents a call from allocating more memory than a machine has.
const maxBatch = 1 << 24

// A Segment is a source of dense numbers. It is safe for concurrent use. It runs no
// goroutine while it has enough numbers, so a Segment that is used until the process
// ends need not be closed. The zero Segment is not valid; use [New].
type Segment struct {
	store Store
	cfg   Config

	gate         gate
	drawn, plain *int64 // copied from the gate, so that Next is short enough to be inlined

	mu        sync.Mutex // guards the fields below, and opening and shutting of the gate
	chain     []run      // the runs after the one in the gate
	ready     int64      // how many numbers chain has
	queue     []*waiter  // the calls that wait, in their order
	demand    demand
	bound     int64 // the end of what was granted; nothing below it may be granted again
	exhausted bool  // bound is above MaxValue
	closed    bool
	reason    error // why the last fetch failed; nil if it did not

	// The fetch that runs: cancel ends it, and done is closed when it has ended. Nil
	// while none runs.
	cancel context.CancelFunc
	done   chan struct{}
}

// A run is a segment, or a part of one: the places from first to last. The number
// at a place is place*Stride + Offset. So the numbers that this Segment may issue have
// consecutive places, and if Stride is 1, each number is equal to its place.
type run struct{ first, last int64 }

func (r run) count() int64 { return r.last - r.first + 1 }

// New returns a Segment that takes its numbers from store. It fetches nothing until the
// first call for a number. The error is a [*ConfigError].
func New(store Store, cfg Config) (*Segment, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(store); err != nil {
		return nil, err
	}
	s := &Segment{
		store:  store,
		cfg:    cfg,
		demand: demand{step: cfg.MinStep, since: time.Now()},
		bound:  cfg.MinValue,
	}
	s.drawn, s.plain = s.gate.init()
	return s, nil
}

// Next returns one number. If all fetched numbers are used, Next waits for the store
// until ctx ends. Calls that wait are served in the order in which they began to wait.
// The error is an [*ExhaustedError], [ErrClosed], or the error of ctx if ctx ended
// during the wait. If the last fetch failed, the error also wraps its [*StoreError].
//
// The fast path is an atomic addition and a comparison, and the compiler can inline it.
// An inlined call takes as long as the addition, 2.1 ns on an EPYC of 2022. A call that
// is not inlined, for instance through [idgen.Source], takes 2.2 to 3.5 ns, because the
// addition waits for earlier memory writes, and a call adds some. The comment on the
// type gate explains why no number is returned to two calls.
func (s *Segment) Next(ctx context.Context) (n int64, err error) {
	if n = atomic.AddInt64(s.drawn, 1); n > atomic.LoadInt64(s.plain) {
		n, err = s.beyond(ctx, n)
	}
	return
}

// beyond completes a call of Next that got a place above plain. If the call owns the
// place, beyond returns the place's number. Otherwise it takes a number under the lock.
func (s *Segment) beyond(ctx context.Context, place int64) (int64, error) {
	if s.gate.owned(place) {
		return s.number(place), nil
	}
	runs, err := s.draw(ctx, 1)
	if err != nil {
		return 0, err
	}
	return s.number(runs[0].first), nil
}

func (s *Segment) number(place int64) int64 { return place*s.cfg.Stride + s.cfg.Offset }

// Append appends n numbers to dst in ascending order and returns the extended
// slice. It takes them in one step, so no other call gets a number between them. It
// returns the errors of [Segment.Next], and a [*idgen.CountError] if n is below 0 or
// above 16,777,216. After an error, dst is unchanged and no number is skipped.
func (s *Segment) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	if n < 0 || n > maxBatch {
		return dst, &idgen.CountError{Count: int64(n), Max: maxBatch}
	}
	if n == 0 {
		return dst, nil
	}
	if r, ok := s.gate.take(int64(n)); ok {
		return s.fill(dst, r), nil
	}
	runs, err := s.draw(ctx, int64(n))
	if err != nil {
		return dst, err
	}
	return s.fill(dst, runs...), nil
}

func (s *Segment) fill(dst []int64, runs ...run) []int64 {
	for _, r := range runs {
		dst = slices.Grow(dst, int(r.count()))
		for i := range r.count() {
			dst = append(dst, s.number(r.first+i))
		}
	}
	return dst
}

// left returns how many numbers were granted and are not used yet. The caller holds mu.
func (s *Segment) left() int64 { return s.gate.left() + s.ready }

// take takes the n smallest numbers that are ready, or none if fewer than n are ready.
// The caller holds mu.
func (s *Segment) take(n int64) (runs []run) {
	// Another call may have opened the gate since ours found no number in it.
	if r, ok := s.gate.take(n); ok {
		return []run{r}
	}
	s.recall()
	if n <= s.ready {
		s.ready -= n
		for n > 0 {
			r := &s.chain[0]
			part := run{r.first, min(r.first+n-1, r.last)}
			runs = append(runs, part)
			n -= part.count()
			r.first += part.count()
			if r.count() == 0 {
				s.chain = s.chain[1:]
			}
		}
	}
	s.publish()
	return runs
}

// recall shuts the gate and puts the numbers that are left in it back at the beginning
// of the chain. From then until publish, every call for numbers has to take the lock.
// The caller holds mu.
func (s *Segment) recall() {
	if r := s.gate.shut(); r.count() > 0 {
		s.chain = slices.Insert(s.chain, 0, r)
		s.ready += r.count()
	}
}

// publish opens the gate for the first run in the chain, if the gate can be opened for
// it, so that calls take its numbers without the lock. The caller holds mu and has
// called recall.
func (s *Segment) publish() {
	if len(s.chain) > 0 && s.gate.open(s.chain[0], s.cfg.Stride == 1) {
		s.ready -= s.chain[0].count()
		s.chain = s.chain[1:]
	}
}

// A waiter is a call that waits for n numbers.
type waiter struct {
	n      int64
	served chan struct{} // closed when what follows is set
	runs   []run
	err    error
}

// draw takes n numbers under the lock. If too few are ready, it waits in the queue until
// they were fetched. If it returns an error, it has taken none.
func (s *Segment) draw(ctx context.Context, n int64) ([]run, error) {
	w := &waiter{n: n, served: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, w)
	s.serve()
	s.refill()
	s.mu.Unlock()
	select {
	case <-w.served:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.queue, w); i >= 0 { // else it was served
			s.queue = slices.Delete(s.queue, i, i+1)
			s.serve() // there may be enough numbers for the next call
			return nil, s.waitError(ctx)
		}
	}
	return w.runs, w.err
}

// serve gives the waiting calls their numbers, in the order of the queue, until too few
// are ready. If no more numbers will be fetched, it gives them an error instead. The
// caller holds mu.
func (s *Segment) serve() {
	for len(s.queue) > 0 {
		w := s.queue[0]
		if w.runs = s.take(w.n); w.runs == nil {
			if w.err = s.ended(); w.err == nil {
				return
			}
		}
		close(w.served)
		s.queue = s.queue[1:]
	}
}

// ended returns the reason if no number will be fetched any more, and otherwise nil. The
// caller holds mu.
func (s *Segment) ended() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.exhausted:
		return &ExhaustedError{Name: s.cfg.Name, MaxValue: s.cfg.MaxValue}
	}
	return nil
}

func (s *Segment) waitError(ctx context.Context) error {
	if s.reason == nil {
		return fmt.Errorf("segment: waiting for numbers of %q: %w", s.cfg.Name, ctx.Err())
	}
	return fmt.Errorf("segment: waiting for numbers of %q: %w: %w", s.cfg.Name, ctx.Err(), s.reason)
}

// Close closes the segment: calls that wait return [ErrClosed], and no number is
// issued afterwards. Numbers that were fetched but not issued are never used. If a
// fetch is running, Close cancels it and waits for it to end, but no longer than ctx
// lasts. Close can be called again.
func (s *Segment) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.recall()
	s.chain, s.ready = nil, 0
	s.serve()
	done := s.done
	if done != nil {
		s.cancel()
	}
	s.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("segment: waiting for the store of %q to give up: %w", s.cfg.Name, ctx.Err())
	}
}
