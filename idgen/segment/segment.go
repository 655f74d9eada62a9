package segment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// maxBatch keeps a single call from allocating more memory than the machine has.
const maxBatch = 1 << 24

// A Segment is a source of dense numbers. It's safe for concurrent use. No goroutine runs
// while it has enough numbers, so you don't have to close a Segment that's used until the
// process ends. The zero Segment isn't valid; use [New].
type Segment struct {
	store Store
	cfg   Config

	mu        sync.Mutex // guards the fields below
	chain     []run      // the numbers that are ready
	ready     int64      // how many numbers there are in chain
	queue     []*waiter  // the waiting calls, in the order in which they will be served
	demand    demand
	bound     int64 // the end of the last grant; nothing below it may be granted again
	exhausted bool  // bound is above MaxValue
	closed    bool
	reason    error // why the last fetch failed, or nil if it succeeded
	stats     Stats // without Issued
	dropped   int64 // how many numbers were left when the Segment was closed

	// Set while a fetch is running: cancel ends the fetch, and done is closed when it
	// has ended.
	cancel context.CancelFunc
	done   chan struct{}

	release func() // gives back what the store has reserved
}

// A run is a segment or a part of one, given by its first and last place. The number at
// a place is place*Stride + Offset. We count in places because the numbers that this
// Segment may issue need not be consecutive, but their places always are. If Stride is
// 1, each number is equal to its place.
type run struct{ first, last int64 }

func (r run) count() int64 { return r.last - r.first + 1 }

// New returns a Segment that takes its numbers from store. The store isn't contacted
// until the first call for a number.
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
	var warning string
	if s.release, warning = leased.Reserve(store); warning != "" {
		cfg.log().Warn("segment: numbers may stop", "name", cfg.Name, "reason", warning)
	}
	return s, nil
}

// Next returns one number. If there are no fetched numbers left, it waits for the store
// until ctx ends. Waiting calls are served in order of arrival. The error is an
// [*ExhaustedError], [ErrClosed], or the error of ctx if it ended during the wait. If the
// last fetch failed, the error also wraps its [*StoreError]. A call that's still waiting
// after [Config.MaxBlocked] may fail with just a [*StoreError] wrapping a
// [*BlockedError].
func (s *Segment) Next(ctx context.Context) (int64, error) {
	if r, ok := s.ownRun(1); ok {
		return s.number(r.first), nil
	}
	runs, err := s.draw(ctx, 1)
	if err != nil {
		return 0, err
	}
	return s.number(runs[0].first), nil
}

func (s *Segment) number(place int64) int64 { return place*s.cfg.Stride + s.cfg.Offset }

// Append appends n numbers to dst in ascending order and returns the extended slice.
// They're taken in one step, so no other call gets a number in between. Append returns
// the errors of [Segment.Next], plus a [*idgen.CountError] if n is below 0 or above
// 16,777,216. On error, dst is unchanged and no number is skipped.
func (s *Segment) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	if n < 0 || n > maxBatch {
		return dst, &idgen.CountError{Count: int64(n), Max: maxBatch}
	}
	if n == 0 {
		return dst, nil
	}
	if r, ok := s.ownRun(int64(n)); ok {
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

// ownRun takes n numbers from the first run, if it has as many and no other call waits.
func (s *Segment) ownRun(n int64) (run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 || len(s.chain) == 0 || s.chain[0].count() < n {
		return run{}, false
	}
	r := s.cut(n)
	s.refill()
	return r, true
}

// cut takes n numbers from the first run, or all that it has. The caller must hold mu.
func (s *Segment) cut(n int64) run {
	first := &s.chain[0]
	r := run{first.first, min(first.first+n-1, first.last)}
	s.ready -= r.count()
	if first.first = r.last + 1; first.count() == 0 {
		s.chain = s.chain[1:]
	}
	return r
}

// take takes the n smallest numbers that are ready, or none at all if fewer than n are
// ready. The caller must hold mu.
func (s *Segment) take(n int64) (runs []run) {
	if n > s.ready {
		return nil
	}
	for n > 0 {
		r := s.cut(n)
		runs = append(runs, r)
		n -= r.count()
	}
	return runs
}

// A waiter is a call waiting for n numbers.
type waiter struct {
	n      int64
	began  time.Time
	served chan struct{} // closed once the fields below are set
	runs   []run
	err    error
}

// draw takes n numbers. If fewer are ready, it waits in the queue until they have been
// fetched. If it returns an error, no number was taken.
func (s *Segment) draw(ctx context.Context, n int64) ([]run, error) {
	w := &waiter{n: n, began: time.Now(), served: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, w)
	s.serve()
	s.refill()
	s.mu.Unlock()
	select {
	case <-w.served:
		return w.runs, w.err
	default:
	}
	select {
	case <-w.served:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waited(w.began)
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waited(w.began)
		if i := slices.Index(s.queue, w); i >= 0 { // otherwise we were served in the meantime
			s.queue = slices.Delete(s.queue, i, i+1)
			s.serve() // the numbers left may be enough for the next call
			return nil, s.waitError(ctx)
		}
	}
	return w.runs, w.err
}

// serve gives the waiting calls their numbers, in the order of the queue, for as long
// as enough are ready. If no more numbers are going to be fetched, the calls get an
// error instead. The caller must hold mu.
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

// ended returns the reason why no more numbers are going to be fetched, or nil if there
// is none. The caller must hold mu.
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

// Close closes the segment. Waiting calls return [ErrClosed], and no numbers are issued
// from then on. Numbers that were fetched but not issued are lost. If there's a fetch in
// progress, Close cancels it and waits for it to end, though not beyond the end of ctx.
// Close may be called more than once.
func (s *Segment) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.dropped += s.ready
	s.chain, s.ready = nil, 0
	s.serve()
	done := s.done
	if done != nil {
		s.cancel()
	}
	s.mu.Unlock()
	defer func() { go s.release() }() // it waits for a fetch that is still running
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
