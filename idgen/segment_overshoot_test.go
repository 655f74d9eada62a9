package idgen

import (
	"context"
	"errors"
	"math"
	"testing"
)

// grants grants whatever it is asked for, once.
type grants struct{ done bool }

func (g *grants) Fetch(_ context.Context, f SegmentFetch) (int64, error) {
	if g.done {
		return f.Limit, nil
	}
	g.done = true
	return f.Min, nil
}

// Calls that found no number left have moved the place on, each by one, until the
// first of them is at the lock. Behind the largest number they must not begin anew.
func TestSegmentCallsBehindTheLargestNumber(t *testing.T) {
	const largest = math.MaxInt64 - 1
	for _, stride := range []int64{1, 2} {
		for underway := range uint64(5) {
			s, err := NewSegment(&grants{}, SegmentConfig{Name: "orders", MinValue: largest - 3, Stride: stride})
			if err != nil {
				t.Fatal(err)
			}
			for left := 4/stride - 1; left >= 0; left-- {
				want := largest - left*stride
				if id, err := s.Next(t.Context()); id != want || err != nil {
					t.Fatalf("drew %d, %v; want %d", id, err, want)
				}
			}
			s.head.Load().next.Add(underway)
			id, err := s.Next(t.Context())
			if _, ok := errors.AsType[*SegmentExhaustedError](err); !ok || id != 0 {
				t.Errorf("behind %d other calls drew %d, %v", underway, id, err)
			}
			if ready := s.Health().Ready; ready != 0 {
				t.Errorf("behind %d other calls %d numbers are ready", underway, ready)
			}
		}
	}
}
