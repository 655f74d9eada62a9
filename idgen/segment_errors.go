package idgen

import (
	"errors"
	"fmt"
)

// ErrSegmentClosed is returned by a [Segment] after [Segment.Close].
var ErrSegmentClosed = errors.New("idgen: the segment is closed")

// A SegmentExhaustedError is returned when fewer numbers are left up to MaxValue
// than a call asks for. It is final.
type SegmentExhaustedError struct {
	Name     string
	MaxValue int64
}

func (e *SegmentExhaustedError) Error() string {
	return fmt.Sprintf("idgen: the numbers of %q have reached MaxValue %d; raise it, after the column if that is what holds no more", e.Name, e.MaxValue)
}

// A SegmentStoreError says that the store does not answer, or not as it should.
type SegmentStoreError struct {
	Name string
	Err  error
}

func (e *SegmentStoreError) Error() string {
	return fmt.Sprintf("idgen: the store failed to grant numbers of %q: %v; trying again", e.Name, e.Err)
}

// Unwrap returns Err.
func (e *SegmentStoreError) Unwrap() error { return e.Err }

// A SegmentConfigError is returned by [NewSegment] for a [SegmentConfig] that
// cannot be.
type SegmentConfigError struct {
	Field  string
	Reason string // what is wrong and what to do
}

func (e *SegmentConfigError) Error() string {
	return "idgen: SegmentConfig." + e.Field + " " + e.Reason
}
