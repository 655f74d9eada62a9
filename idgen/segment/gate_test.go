package segment

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// A rowStore is a Store for a single process. We can't use package segmenttest here,
// because it imports this package.
type rowStore struct{ bound int64 }

func (s *rowStore) Fetch(_ context.Context, f Fetch) (int64, error) {
	start := min(max(s.bound, f.Min), f.Limit)
	s.bound = f.End(start)
	return start, nil
}

func rowSegment(t *testing.T, cfg Config) *Segment {
	t.Helper()
	cfg.Name = "orders"
	return errtest.Must(New(&rowStore{}, cfg))(t)
}

// begin is the first half of Next, for a call that is interrupted before its
// comparison.
func begin(s *Segment) (place int64) { return atomic.AddInt64(s.drawn, 1) }

// end is the second half of Next.
func end(t *testing.T, s *Segment, place int64) int64 {
	t.Helper()
	if place <= atomic.LoadInt64(s.plain) {
		return place
	}
	return errtest.Must(s.beyond(t.Context(), place))(t)
}

// awaitFetch waits for the running fetch to end, if there is one.
func awaitFetch(s *Segment) {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done != nil {
		<-done
	}
}

// This test interrupts calls between the addition and the comparison, at every place of
// a run, while other calls use up that run and more. Every number must be issued
// exactly once.
func TestCallsThatAreInterrupted(t *testing.T) {
	const step = 5
	for before := range 2 * step { // how much of the run is used before the calls begin
		for interrupted := 1; interrupted < 2*step; interrupted++ {
			for meanwhile := range 4 * step {
				s := rowSegment(t, Config{MinStep: step, MaxStep: step})
				had := map[int64]int{}
				draw := func(n int) {
					for range n {
						id := errtest.Must(s.Next(t.Context()))(t)
						had[id]++
					}
				}
				draw(before)
				var places []int64
				for range interrupted {
					places = append(places, begin(s))
				}
				draw(meanwhile)
				for _, place := range places {
					had[end(t, s, place)]++
				}
				draw(4 * step)
				awaitFetch(s)
				draw(1) // takes numbers from the chain, unless the gate is open already
				s.mu.Lock()
				open := s.gate.isOpen
				s.mu.Unlock()
				if !open {
					t.Fatalf("before %d, interrupted %d, meanwhile %d: the gate stays shut", before, interrupted, meanwhile)
				}
				for id := range int64(before + interrupted + meanwhile + 4*step) {
					if had[1+id] != 1 {
						t.Fatalf("before %d, interrupted %d, meanwhile %d: number %d was issued %d times", before, interrupted, meanwhile, 1+id, had[1+id])
					}
				}
			}
		}
	}
}

// Close to the largest number the gate doesn't open any more, because late calls could
// make drawn overflow. All numbers up to the last one should still be issued, under the
// lock.
func TestAtTheLargestNumber(t *testing.T) {
	const largest = math.MaxInt64 - 1
	for _, interrupted := range []int{0, 1, 5} {
		for _, first := range []int64{farLast - 6, largest - 9} {
			s := rowSegment(t, Config{MinValue: first, MinStep: 4, MaxStep: 4})
			for range interrupted {
				begin(s)
			}
			for want := first; want < first+10; want++ {
				if id, err := s.Next(t.Context()); id != want || err != nil {
					t.Fatalf("drew %d, %v; want %d", id, err, want)
				}
			}
			if first+10 <= largest {
				continue
			}
			id, err := s.Next(t.Context())
			if _, ok := errors.AsType[*ExhaustedError](err); !ok || id != 0 {
				t.Errorf("behind %d other calls drew %d, %v", interrupted, id, err)
			}
		}
	}
}
