package idgen

import "context"

// A Source hands out keys. [*Pool], [*Generator], [*Unordered] and *segment.Segment
// are Sources, and every integration (ent, GORM, …) accepts one.
//
// A Source is safe for concurrent use. Each id it returns is positive, unique
// under its worker and layout, or its name, and, unless the Source is an
// [*Unordered], greater than every id that the same Source returned to a call that
// ended before this one began.
type Source interface {
	// Next returns one id. It waits no longer than ctx lasts.
	Next(ctx context.Context) (int64, error)

	// Append reserves n ids in one step, appends them to dst in ascending
	// order and returns the extended slice. After an error dst is unchanged.
	Append(ctx context.Context, dst []int64, n int) ([]int64, error)
}
