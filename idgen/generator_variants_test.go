package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// checkGenerator takes ids while the clock stands still, runs, jumps and goes back,
// first in one goroutine and then in several. It returns an error if ids repeat or are
// out of order.
func checkGenerator(src idgen.Source, clock *heldClock) error {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(5, 6))
	layout := idgen.DefaultLayout()
	seen := map[int64]bool{}
	last := int64(0)
	for i := range 4000 {
		count := 1 + i%3
		switch {
		case i%500 == 0:
			clock.step(time.Duration(r.Int64N(2000)-1000) * time.Millisecond)
		case i%100 == 0:
			clock.step(-2 * time.Millisecond)
		case i%250 == 1:
			count = 5000 // more than a tick has
		case i%10 == 0:
			clock.step(time.Duration(r.IntN(3)) * time.Millisecond)
		}
		ids, err := src.Append(ctx, nil, count)
		if _, late := errors.AsType[*idgen.ClockError](err); late {
			clock.step(time.Second)
			continue
		}
		if err != nil {
			return err
		}
		for _, id := range ids {
			switch {
			case seen[id]:
				return fmt.Errorf("id %d twice", id)
			case id <= last:
				return fmt.Errorf("id %d after %d", id, last)
			case layout.Decode(id).Time.Sub(clock.Now()) > ahead:
				return fmt.Errorf("id %d is of %v, more than %v ahead of %v", id, layout.Decode(id).Time, ahead, clock.Now())
			case layout.Decode(id).Worker != 5:
				return fmt.Errorf("id %d is of worker %d", id, layout.Decode(id).Worker)
			}
			seen[id], last = true, id
		}
	}
	clock.step(time.Hour)
	var mu sync.Mutex
	var twice error
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 400 {
				id, err := src.Next(ctx)
				if err != nil {
					continue
				}
				mu.Lock()
				if seen[id] {
					twice = fmt.Errorf("id %d to two goroutines", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return twice
}

const ahead = 5 * time.Millisecond

func TestGeneratorPassesTheCheck(t *testing.T) {
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: ahead, MaxWait: -1, Worker: func(int) (int64, error) { return 5, nil }})
	if err := checkGenerator(pool, clock); err != nil {
		t.Error(err)
	}
}

// variant is a generator that may be broken on purpose. The function next computes its
// next counter from the last one and the tick of the clock.
type variant struct {
	clock  *heldClock
	last   atomic.Int64
	next   func(last, now int64) int64
	torn   bool // stores without comparing
	worker int64
}

func (v *variant) Next(ctx context.Context) (int64, error) {
	for {
		last, now := v.last.Load(), v.clock.Now().Sub(epoch).Milliseconds()
		next := v.next(last, now<<12)
		if next < 0 {
			return 0, &idgen.ClockError{}
		}
		switch {
		case v.torn:
			runtime.Gosched()
			v.last.Store(next)
		case !v.last.CompareAndSwap(last, next):
			continue
		}
		return next>>12<<22 | v.worker<<12 | next&4095, nil
	}
}

func (v *variant) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	for range n {
		id, err := v.Next(ctx)
		if err != nil {
			return dst, err
		}
		dst = append(dst, id)
	}
	return dst, nil
}

func TestBrokenGeneratorsFailTheCheck(t *testing.T) {
	limit := func(next, now int64) int64 {
		if next>>12 > now>>12+ahead.Milliseconds() {
			return -1
		}
		return next
	}
	correct := func(last, now int64) int64 { return limit(max(last+1, now), now) }
	for _, tt := range []struct {
		name   string
		next   func(last, now int64) int64
		torn   bool
		worker int64
		sound  bool
	}{
		{name: "correct", next: correct, worker: 5, sound: true},
		{name: "follows the clock back", worker: 5, next: func(last, now int64) int64 {
			if now>>12 == last>>12 {
				return last + 1
			}
			return now
		}},
		{name: "wraps a full sequence within its tick", worker: 5, next: func(last, now int64) int64 {
			if now > last {
				return now
			}
			return limit(last&^4095|(last+1)&4095, now)
		}},
		{name: "forgets the sequence when the clock is set back", worker: 5, next: func(last, now int64) int64 {
			if now>>12 < last>>12 {
				return limit(last&^4095, now)
			}
			return max(last+1, now)
		}},
		{name: "runs ahead without limit", worker: 5, next: func(last, now int64) int64 { return max(last+1, now) }},
		{name: "stores what another has taken", worker: 5, next: correct, torn: true},
		{name: "masks the worker", worker: 5 & 3, next: correct},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := holdClock(epoch.AddDate(1, 0, 0))
			err := checkGenerator(&variant{clock: clock, next: tt.next, torn: tt.torn, worker: tt.worker}, clock)
			if (err == nil) != tt.sound {
				t.Errorf("found %v", err)
			}
		})
	}
}
