// Package idtest has a source of ids for tests.
package idtest

import (
	"context"
	"sync"
)

// First is the first id of a [Source]. A float64 does not tell it from the next.
const First = 1<<60 + 1

// A Source counts up by one from [First], and remembers how it was asked. Its fields
// may be changed while no call runs.
type Source struct {
	Asked  []int // how many ids each call wanted
	FailAt int   // which call fails, from 1; 0 is each
	Err    error // with what; nil if none fails
	Short  int   // how many ids too few to return

	mu  sync.Mutex
	ids int64 // how many were drawn
}

// Next returns one id.
func (s *Source) Next(ctx context.Context) (int64, error) {
	ids, err := s.Append(ctx, nil, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Append appends n ids to dst.
func (s *Source) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked = append(s.Asked, n)
	if s.Err != nil && (s.FailAt == 0 || s.FailAt == len(s.Asked)) {
		return dst, s.Err
	}
	for range n - s.Short {
		dst = append(dst, First+s.ids)
		s.ids++
	}
	return dst, nil
}

// Last returns the id drawn last; First-1 before the first.
func (s *Source) Last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return First - 1 + s.ids
}

// Calls returns how many calls there were.
func (s *Source) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.Asked)
}
