package segment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// demand measures how fast a [Segment] uses numbers, and adapts the step to it.
type demand struct {
	step    int64     // how many numbers a fetch should request
	granted int64     // how many numbers were granted, without those that Close dropped
	drawn   int64     // how many of them had been used by the time since
	since   time.Time // when the step was last set
}

// maxGrowth limits how far a short burst can grow the step. It grows again only after a
// whole step has been used.
const maxGrowth = 8

// adapt sets the step to as many numbers as would be used in cfg.Ahead, judging by the
// rate since the last change. It doesn't change the step until at least a whole step
// has been used. This lets the step grow while demand is high, and drop at once after a
// period of low demand, without the need for a timer. left is how many granted numbers
// haven't been used yet.
func (d *demand) adapt(cfg *Config, left int64, now time.Time) {
	drawn := d.granted - left
	n := drawn - d.drawn
	if n < d.step {
		return
	}
	elapsed := max(now.Sub(d.since), 1)
	wanted := float64(n) * float64(cfg.Ahead) / float64(elapsed)
	most := min(d.step*maxGrowth, cfg.MaxStep)
	d.step = max(int64(min(wanted, float64(most))), cfg.MinStep)
	d.drawn, d.since = drawn, now
}

// After a failed fetch we pause, and double the pause with each further failure in a
// row. A random part of up to half the pause is subtracted, so that fetches that
// collided don't collide again.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// refill starts a fetch if one is needed. The caller must hold mu.
func (s *Segment) refill() {
	if s.done == nil && s.needsFetch() {
		s.done = make(chan struct{})
		go s.fetch()
	}
}

// needsFetch reports whether there are calls waiting for numbers, or less than one step
// of numbers in the chain. The caller must hold mu.
func (s *Segment) needsFetch() bool {
	return (len(s.queue) > 0 || s.ready < s.demand.step) && s.ended() == nil
}

// fetch calls the store until needsFetch returns false. There must be only one at a
// time.
func (s *Segment) fetch() {
	pause := firstPause
	for {
		f, ok := s.plan()
		if !ok {
			return
		}
		began := time.Now()
		start, err := s.fetchOnce(f)
		s.fetched(began, err)
		if s.record(f, start, err); err == nil {
			pause = firstPause
			continue
		}
		select {
		case <-time.After(pause - rand.N(pause/2)):
		case <-s.life.Done():
		}
		pause = min(2*pause, mostPause)
	}
}

// plan returns what to fetch next. If nothing is needed, plan marks the running fetch
// as ended before releasing the lock, so that a later call will start another one.
func (s *Segment) plan() (f Fetch, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demand.adapt(&s.cfg, s.ready, time.Now())
	if !s.needsFetch() {
		close(s.done)
		s.done = nil
		return f, false
	}
	wanted := int64(0)
	for _, w := range s.queue {
		wanted += w.n
	}
	count := min(max(s.demand.step, wanted), math.MaxInt64/s.cfg.Stride)
	return Fetch{Name: s.cfg.Name, Min: s.bound, Limit: s.cfg.MaxValue + 1, Span: count * s.cfg.Stride}, true
}

// fetchOnce calls the store once. It returns an error if the store granted numbers
// outside the requested range. If the store does not return soon after its context has
// ended, we record the timeout at once but keep waiting for the store, so that calls to
// the store never overlap.
func (s *Segment) fetchOnce(f Fetch) (start int64, err error) {
	ctx, cancel := context.WithTimeout(s.life, s.cfg.Timeout)
	defer cancel()
	report := sync.OnceFunc(func() { s.record(f, 0, fmt.Errorf("it has not answered for %v", s.cfg.Timeout)) })
	late := time.AfterFunc(s.cfg.Timeout+s.cfg.Timeout/50, report) // until then, the store's own error says more
	start, err = s.store.Fetch(ctx, f)
	if !late.Stop() {
		report() // if it is running, wait, so that the store's reply is recorded after the timeout
	}
	if err == nil && (start < f.Min || start > f.Limit) {
		err = fmt.Errorf("it granted numbers from %d on, not within %d to %d; see with segmenttest.Run what is wrong with it", start, f.Min, f.Limit)
	}
	return start, err
}

// record adds the numbers that a fetch granted to the chain, or stores why it failed.
// The store may have granted numbers even though the fetch failed. In that case we skip
// them.
func (s *Segment) record(f Fetch, start int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if err != nil {
		if s.reason == nil {
			s.cfg.log().Warn("segment: a fetch failed; numbers that were fetched before are still issued", "name", f.Name, "left", s.ready, "error", err)
		}
		s.reason = &StoreError{Name: f.Name, Err: err}
	} else {
		if s.reason != nil {
			s.cfg.log().Info("segment: fetches succeed again", "name", f.Name)
			s.reason = nil
		}
		s.bound = f.End(start)
		s.exhausted = s.bound == f.Limit
		if r := s.cfg.within(start, s.bound); r.n > 0 {
			s.chain = append(s.chain, r)
			s.ready += r.n
			s.demand.granted += r.n
		}
	}
	s.serve()
}
