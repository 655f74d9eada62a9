// Package idtest has a source of ids for tests.
package idtest

import (
	"context"
	"sync"
)

// First is the first id of a [Source]. It is so large that First and First+1 are equal
// when they are converted to float64.
const First = 1<<60 + 1

// A Source returns ids from [First] on, each one larger by 1, and records its calls.
// Its fields may be changed while no call runs.
type Source struct {
	Asked  []int // how many ids each call wanted
	FailAt int   // which call fails, from 1; 0 means each
	Err    error // the error of that call; nil if no call fails
	Short  int   // how many ids a call returns too few

	mu  sync.Mutex
	ids int64 // how many ids were returned
}

// Next returns one id, even if Short is set.
func (s *Source) Next(context.Context) (int64, error) {
	ids, err := s.append(nil, 1, 0)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Append appends n ids to dst.
func (s *Source) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	return s.append(dst, n, s.Short)
}

func (s *Source) append(dst []int64, n, short int) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked = append(s.Asked, n)
	if s.Err != nil && (s.FailAt == 0 || s.FailAt == len(s.Asked)) {
		return dst, s.Err
	}
	for range n - short {
		dst = append(dst, First+s.ids)
		s.ids++
	}
	return dst, nil
}

// Last returns the last id that was returned, or First-1.
func (s *Source) Last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return First - 1 + s.ids
}

// Calls returns the number of calls.
func (s *Source) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.Asked)
}

// Waiting is a source whose Next waits until its context ends.
type Waiting struct{ Source }

// Next returns the error of the context.
func (*Waiting) Next(ctx context.Context) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}
