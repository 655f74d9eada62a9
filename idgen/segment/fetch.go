package segment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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

// needsFetch reports whether there are calls waiting for numbers, or less than one step
// of numbers in the chain. The caller must hold mu.
func (s *Segment) needsFetch() bool {
	return (len(s.queue) > 0 || s.ready < s.demand.step) && s.ended() == nil
}

// refill starts a fetch if one is needed and none is running. The caller must hold mu.
func (s *Segment) refill() {
	if s.done != nil || !s.needsFetch() {
		return
	}
	s.demand.adapt(&s.cfg, s.ready, time.Now())
	if !s.needsFetch() {
		return
	}
	wanted := int64(0)
	for _, w := range s.queue {
		wanted += w.n
	}
	count := min(max(s.demand.step, wanted), math.MaxInt64/s.cfg.Stride)
	s.done = make(chan struct{})
	go s.fetch(Fetch{Name: s.cfg.Name, Min: s.bound, Limit: s.cfg.MaxValue + 1, Span: count * s.cfg.Stride})
}

// fetch calls the store, pauses if that failed, and starts the next fetch if one is needed.
// If the store does not return soon after its context has ended, we record the timeout at
// once but keep waiting for the store, so that calls to the store never overlap.
func (s *Segment) fetch(f Fetch) {
	ctx, cancel := context.WithTimeout(s.life, s.cfg.Timeout)
	defer cancel()
	var returned bool // guarded by mu
	// Until this ends, the store's own error, which says more, may come.
	late := time.AfterFunc(s.cfg.Timeout+s.cfg.Timeout/50, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !returned {
			s.record(f, 0, fmt.Errorf("it has not answered for %v", s.cfg.Timeout))
		}
	})
	began := time.Now()
	start, err := s.store.Fetch(ctx, f)
	late.Stop()
	if err == nil && (start < f.Min || start > f.Limit) {
		err = fmt.Errorf("it granted numbers from %d on, not within %d to %d; see with segmenttest.Run what is wrong with it", start, f.Min, f.Limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	returned = true
	s.stats.LastFetch = time.Since(began)
	s.stats.FetchTime += s.stats.LastFetch
	s.record(f, start, err)
	if err == nil {
		s.stats.Fetches++
		s.pause = firstPause
	} else {
		s.stats.Failures++
		s.mu.Unlock()
		select {
		case <-time.After(s.pause - rand.N(s.pause/2)):
		case <-s.life.Done():
		}
		s.mu.Lock()
		s.pause = min(2*s.pause, mostPause)
	}
	close(s.done)
	s.done = nil
	s.refill()
}

// record adds the numbers that a fetch granted to the chain, or stores why it failed.
// The store may have granted numbers even though the fetch failed. In that case we skip
// them. The caller must hold mu.
func (s *Segment) record(f Fetch, start int64, err error) {
	switch {
	case s.closed():
		return
	case err != nil:
		if s.reason == nil {
			s.cfg.log().Warn("segment: a fetch failed; numbers that were fetched before are still issued", "name", f.Name, "left", s.ready, "error", err)
		}
		s.reason = &StoreError{Name: f.Name, Err: err}
	default:
		if s.reason != nil {
			s.cfg.log().Info("segment: fetches succeed again", "name", f.Name)
			s.reason = nil
		}
		s.bound = f.End(start)
		if r := s.cfg.within(start, s.bound); r.n > 0 {
			s.chain = append(s.chain, r)
			s.ready += r.n
			s.demand.granted += r.n
		}
	}
	s.serve()
}
