package segment

import (
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// ErrClosed is returned by a [Segment] after [Segment.Close].
var ErrClosed = errors.New("segment: the segment is closed")

// An ExhaustedError is returned if there aren't enough numbers left up to MaxValue for a
// call. There's no point in retrying.
type ExhaustedError struct {
	Name     string
	MaxValue int64
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("segment: the numbers of %q have reached MaxValue %d; raise MaxValue, and first widen the column if it holds no larger numbers", e.Name, e.MaxValue)
}

// A StoreError is returned if the store failed, didn't reply in time, or granted numbers
// that weren't requested.
type StoreError struct {
	Name string
	Err  error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("segment: the store failed to grant numbers of %q: %v; trying again", e.Name, e.Err)
}

// Unwrap returns Err.
func (e *StoreError) Unwrap() error { return e.Err }

// A BlockedError reports that this process itself is keeping the store from answering,
// usually because every connection in its *sql.DB is used by a transaction waiting for
// numbers. It's wrapped in a [*StoreError].
type BlockedError = leased.BlockedError
