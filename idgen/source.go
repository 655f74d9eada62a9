package idgen

import "context"

// A Source hands out ids. [*Pool], [*Generator] and *segment.Segment are Sources, and all
// integrations (ent, GORM, …) accept one.
//
// A Source is safe for concurrent use, and its ids are positive. Each id is unique among
// ids with the same worker number and layout or, for a segment, the same name. If one
// call ends before another begins, the second call gets the greater id.
type Source interface {
	// Next returns one id. If it has to wait, it gives up when ctx ends.
	Next(ctx context.Context) (int64, error)

	// Append reserves n ids in one step, appends them to dst in ascending order and
	// returns the extended slice. On error, dst is unchanged.
	Append(ctx context.Context, dst []int64, n int) ([]int64, error)
}
