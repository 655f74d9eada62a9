package segment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// demand is how fast numbers are drawn, as far as a [Segment] knows.
type demand struct {
	step    int64     // how many numbers a fetch asks for
	granted int64     // how many numbers were granted
	drawn   int64     // how many of these had been drawn at since
	since   time.Time // when the step was last set
}

// maxGrowth limits how much a short burst makes the step grow. The step grows again
// only after a whole step was drawn.
const maxGrowth = 8

// adapt sets the step to the numbers that are drawn in cfg.Ahead. It does so after a
// whole step was drawn since the last change. left is how many granted numbers were
// not drawn yet. So the step grows while demand is high, and falls at once after
// demand was low, without a timer.
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

// The pause after a fetch that failed. It doubles each time. Up to a half is
// subtracted at random, so that fetches that collided do not collide again.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// refill starts a fetch if one is needed. The caller holds mu.
func (s *Segment) refill() {
	if s.done != nil || !s.needsFetch() {
		return
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.done = make(chan struct{})
	go s.fetch(ctx)
}

// needsFetch reports whether calls wait for numbers, or less than a step is ready
// behind the head. The caller holds mu.
func (s *Segment) needsFetch() bool {
	return s.ended() == nil && (len(s.queue) > 0 || s.ready < s.demand.step)
}

// fetch fetches until the chain is full. Only one fetch runs at a time.
func (s *Segment) fetch(ctx context.Context) {
	pause := firstPause
	for {
		f, ok := s.plan()
		if !ok {
			return
		}
		start, err := s.fetchOnce(ctx, f)
		if s.record(f, start, err); err == nil {
			pause = firstPause
			continue
		}
		select {
		case <-time.After(pause - rand.N(pause/2)):
		case <-ctx.Done():
		}
		pause = min(2*pause, mostPause)
	}
}

// plan returns what to fetch next. If no fetch is needed, it marks the running fetch
// as ended in the same step, so that a later call starts another.
func (s *Segment) plan() (f Fetch, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demand.adapt(&s.cfg, s.left(), time.Now())
	if !s.needsFetch() {
		s.cancel()
		close(s.done)
		s.cancel, s.done = nil, nil
		return f, false
	}
	wanted := int64(0)
	for _, w := range s.queue {
		wanted += w.n
	}
	count := min(max(s.demand.step, wanted), math.MaxInt64/s.cfg.Stride)
	return Fetch{Name: s.cfg.Name, Min: s.bound, Limit: s.cfg.MaxValue + 1, Span: count * s.cfg.Stride}, true
}

// fetchOnce calls the store once. An answer that breaks the promises of Store is an
// error. A store that does not return when ctx ends is reported at once. No other call
// is sent before it returns.
func (s *Segment) fetchOnce(ctx context.Context, f Fetch) (start int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	reported := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(reported)
		s.record(f, 0, fmt.Errorf("it has not answered for %v", s.cfg.Timeout))
	})
	start, err = s.store.Fetch(ctx, f)
	if !stop() {
		<-reported // so that the answer is recorded after the report
	}
	if err == nil && (start < f.Min || start > f.Limit) {
		err = fmt.Errorf("it granted numbers from %d on, not within %d to %d; see with segmenttest.Run what is wrong with it", start, f.Min, f.Limit)
	}
	return start, err
}

// record takes in the outcome of a fetch. Numbers that the store may have granted
// without an answer are skipped.
func (s *Segment) record(f Fetch, start int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if err != nil {
		if s.reason == nil {
			s.cfg.log().Warn("segment: the store grants no numbers; those that were fetched go on", "name", f.Name, "left", s.left(), "error", err)
		}
		s.reason = &StoreError{Name: f.Name, Err: err}
		return
	}
	if s.reason != nil {
		s.cfg.log().Info("segment: the store grants numbers again", "name", f.Name)
		s.reason = nil
	}
	s.bound = f.End(start)
	s.exhausted = s.bound == f.Limit
	if r := s.cfg.within(start, s.bound); r.count() > 0 {
		s.chain = append(s.chain, r)
		s.ready += r.count()
		s.demand.granted += r.count()
	}
	s.serve()
}
