package segment

import (
	"context"
	"errors"
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

	mu     sync.Mutex // guards the fields below
	chain  []run      // the numbers that are ready
	ready  int64      // how many numbers there are in chain
	queue  []*waiter  // the waiting calls, in the order in which they will be served
	demand demand
	bound  int64 // the end of the last grant; nothing below it may be granted again
	reason error // why the last fetch failed, or nil if it succeeded
	stats  Stats // without Issued

	done   chan struct{}      // closed when the running fetch has ended; nil if there is none
	pause  time.Duration      // after the next fetch, if it fails
	life   context.Context    // of fetches, ends with Close
	cancel context.CancelFunc // ends life

	release func() // gives back what the store has reserved
}

// A run is a segment or a part of one: n numbers from first on, each larger by Stride.
type run struct{ first, n int64 }

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
		pause:  firstPause,
	}
	s.life, s.cancel = context.WithCancel(context.Background())
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
	var one [1]run
	runs, err := s.draw(ctx, one[:0], 1)
	if err != nil {
		return 0, err
	}
	return runs[0].first, nil
}

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
	var few [2]run
	runs, err := s.draw(ctx, few[:0], int64(n))
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, n)
	for _, r := range runs {
		for i := range r.n {
			dst = append(dst, r.first+i*s.cfg.Stride)
		}
	}
	return dst, nil
}

// A waiter is a call waiting for n numbers.
type waiter struct {
	n      int64
	began  time.Time
	served chan struct{} // closed once the fields below are set
	runs   []run
	err    error
}

// draw takes n numbers and appends their runs to dst. If fewer are ready, or if other calls
// wait, it waits in the queue until they have been fetched. If it returns an error, no
// number was taken.
func (s *Segment) draw(ctx context.Context, dst []run, n int64) ([]run, error) {
	s.mu.Lock()
	if len(s.queue) > 0 || n > s.ready {
		defer s.mu.Unlock()
		return s.await(ctx, n)
	}
	dst = s.take(dst, n)
	s.refill()
	s.mu.Unlock()
	return dst, nil
}

// await waits in the queue for n numbers. The caller must hold mu.
func (s *Segment) await(ctx context.Context, n int64) ([]run, error) {
	if err := s.ended(); err != nil {
		return nil, err
	}
	w := &waiter{n: n, began: time.Now(), served: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.refill()
	s.mu.Unlock()
	select {
	case <-w.served:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.stats.Waits++
	s.stats.WaitTime += time.Since(w.began)
	if i := slices.Index(s.queue, w); i >= 0 { // otherwise we were served, perhaps after ctx ended
		s.queue = slices.Delete(s.queue, i, i+1)
		s.serve() // the numbers left may be enough for the next call
		w.err = s.waitError(ctx.Err())
		if s.reason != nil {
			w.err = fmt.Errorf("%w: %w", w.err, s.reason)
		}
	}
	return w.runs, w.err
}

// take appends the runs of the n smallest numbers that are ready to dst. There must be as
// many. The caller must hold mu.
func (s *Segment) take(dst []run, n int64) []run {
	s.ready -= n
	for n > 0 {
		left := &s.chain[0]
		r := run{left.first, min(n, left.n)}
		left.first += r.n * s.cfg.Stride
		if left.n -= r.n; left.n == 0 {
			s.chain = s.chain[1:]
		}
		dst = append(dst, r)
		n -= r.n
	}
	return dst
}

// serve gives the waiting calls their numbers, in the order of the queue, for as long
// as enough are ready. Calls get an error instead if no more numbers are going to be
// fetched. They also get one after MaxBlocked if the last fetch failed with a
// BlockedError, since the transaction that makes such a call may be what keeps the store
// from answering. The caller must hold mu.
func (s *Segment) serve() {
	_, blocked := errors.AsType[*BlockedError](s.reason)
	for len(s.queue) > 0 {
		w := s.queue[0]
		if w.n <= s.ready {
			w.runs = s.take(nil, w.n)
		} else if w.err = s.ended(); w.err == nil {
			if !blocked || time.Since(w.began) < s.cfg.MaxBlocked {
				return
			}
			w.err = s.waitError(s.reason)
		}
		close(w.served)
		s.queue = s.queue[1:]
	}
}

// ended returns the reason why no more numbers are going to be fetched, or nil if there
// is none. The caller must hold mu.
func (s *Segment) ended() error {
	switch {
	case s.closed():
		return ErrClosed
	case s.bound > s.cfg.MaxValue:
		return &ExhaustedError{Name: s.cfg.Name, MaxValue: s.cfg.MaxValue}
	}
	return nil
}

// closed reports whether Close was called. If the caller holds mu, that doesn't change.
func (s *Segment) closed() bool { return s.life.Err() != nil }

func (s *Segment) waitError(err error) error {
	return fmt.Errorf("segment: waiting for numbers of %q: %w", s.cfg.Name, err)
}

// Close closes the segment. Waiting calls return [ErrClosed], and no numbers are issued
// from then on. Numbers that were fetched but not issued are lost. If there's a fetch in
// progress, Close cancels it and waits for it to end, though not beyond the end of ctx.
// Close may be called more than once.
func (s *Segment) Close(ctx context.Context) error {
	s.mu.Lock()
	s.cancel()
	s.demand.granted -= s.ready
	s.chain, s.ready = nil, 0
	s.serve()
	done := s.done
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
