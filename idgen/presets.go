package idgen

import (
	"fmt"
	"time"
)

// The layouts of well-known systems. The vectors in testdata come from the documents
// and tests of these systems, and testdata/README.md names the source of each.

// DefaultLayout has 41 bits for milliseconds since 2025-01-01, 10 for the worker and 12
// for the sequence: 1,024 workers with 4,096,000 ids a second each, until 2094.
func DefaultLayout() Layout {
	return preset(date(2025, 1, 1), time.Millisecond, Time(41), Worker(10), Sequence(12))
}

// JSSafe makes ids below 2^53, which a JavaScript number holds exactly. It has 37 bits
// for units of 10 ms since 2025-01-01, 10 for the worker and 6 for the sequence. That
// is 1,024 workers with 6,400 ids a second each, until 2068. You do not need this
// layout if your ids are strings in JSON.
func JSSafe() Layout {
	return preset(date(2025, 1, 1), 10*time.Millisecond, Time(37), Worker(10), Sequence(6))
}

// Twitter is the original snowflake layout: 41 bits for milliseconds since 2010-11-04,
// 5 for the datacenter (0 here, see [Layout.WithFixed]), 5 for the worker and 12 for the
// sequence.
func Twitter() Layout {
	return preset(time.UnixMilli(1288834974657), time.Millisecond, Time(41), Fixed("datacenter", 5, 0), Worker(5), Sequence(12))
}

// Twitter2015 has the bits of [Twitter] but counts from 2015-01-01 in UTC. Note that
// many Java programs count from that day in UTC+8 instead. For their ids, use
// [Layout.WithEpoch] with time.UnixMilli(1420041600000).
func Twitter2015() Layout {
	return preset(date(2015, 1, 1), time.Millisecond, Time(41), Fixed("datacenter", 5, 0), Worker(5), Sequence(12))
}

// Discord has 42 bits for milliseconds since 2015-01-01, 5 for the worker, 5 for the
// process (0 here) and 12 for the sequence. Its ids are positive until 2084.
func Discord() Layout {
	return preset(time.UnixMilli(1420070400000), time.Millisecond, Time(42), Worker(5), Fixed("process", 5, 0), Sequence(12))
}

// Instagram has 41 bits for milliseconds since 2011-08-24, 13 for the shard (the worker)
// and 10 for the sequence. Its ids are positive until 2046.
func Instagram() Layout {
	return preset(time.UnixMilli(1314220021721), time.Millisecond, Time(41), Worker(13), Sequence(10))
}

// Sonyflake has 39 bits for units of 10 ms since 2014-09-01, 8 for the sequence and,
// below it, 16 for the machine (the worker). Since the worker is in the lowest bits,
// id % 2^k depends on nothing but the worker for k up to 16.
func Sonyflake() Layout {
	return preset(date(2014, 9, 1), 10*time.Millisecond, Time(39), Sequence(8), Worker(16))
}

// Mastodon has 48 bits for milliseconds since 1970 and 16 for the sequence, and no
// worker field.
func Mastodon() Layout {
	return preset(time.Unix(0, 0), time.Millisecond, Time(48), Sequence(16))
}

// Baidu is the default of uid-generator: 28 bits for seconds since 2016-05-20 in UTC+8,
// 22 for the worker and 13 for the sequence. Its time ended in 2024, so you need
// [Layout.WithEpoch] with a later epoch to make new ids.
func Baidu() Layout {
	return preset(time.Unix(1463673600, 0), time.Second, Time(28), Worker(22), Sequence(13))
}

// TSID has 42 bits for milliseconds since 2020-01-01, 10 for the node (the worker) and
// 12 for the sequence. Its ids are positive until 2089. Package pk reads and writes
// the 13-character text form of a TSID.
func TSID() Layout {
	return preset(date(2020, 1, 1), time.Millisecond, Time(42), Worker(10), Sequence(12))
}

// DatacenterProcess has 41 bits for milliseconds since 2020-02-01 in UTC+8, 3 for the
// datacenter (0 here, see [Layout.WithFixed]), 5 for the process (the worker), 2 for the
// rollback number and 12 for the sequence.
func DatacenterProcess() Layout {
	return preset(time.UnixMilli(1580486400000), time.Millisecond,
		Time(41), Fixed("datacenter", 3, 0), Worker(5), Rollback(2), Sequence(12))
}

// RaindropConfig describes a layout of raindrop.
type RaindropConfig struct {
	Epoch time.Time     // tick 0, which is rounded down to a whole Unit since 1970, in UTC
	Unit  time.Duration // 1 ms, 1 s, 1 min, 1 h or 24 h

	// TimeBits must be 41 to 55 for a unit of 1 ms, 31 to 55 for 1 s, 25 to 50 for
	// 1 min, 19 to 45 for 1 h and 15 to 40 for 24 h.
	TimeBits   int
	WorkerBits int // 3 to 10

	// EndBits is the width of a fixed field in the lowest bits of an id, which holds
	// End. It must be 0 to 5.
	EndBits int
	End     int64
}

// Raindrop returns a layout of raindrop: time, worker, one rollback bit, sequence and
// end bits, 63 bits in total. The wider the time field, the longer ids stay small (see
// [Lifetime].SafeEnd).
func Raindrop(c RaindropConfig) (Layout, error) {
	widths := map[time.Duration][2]int{
		time.Millisecond: {41, 55}, time.Second: {31, 55}, time.Minute: {25, 50}, time.Hour: {19, 45}, 24 * time.Hour: {15, 40},
	}
	width, ok := widths[c.Unit]
	if !ok {
		return Layout{}, &LayoutError{"unit", fmt.Sprintf("%v is not a unit of raindrop; use 1 ms, 1 s, 1 min, 1 h or 24 h", c.Unit)}
	}
	for _, f := range []struct {
		name           string
		bits, min, max int
	}{{"time", c.TimeBits, width[0], width[1]}, {"worker", c.WorkerBits, 3, 10}, {"end", c.EndBits, 0, 5}} {
		if f.bits < f.min || f.bits > f.max {
			return Layout{}, &LayoutError{f.name, fmt.Sprintf("has %d bits; raindrop allows %d to %d", f.bits, f.min, f.max)}
		}
	}
	sequence := 63 - c.TimeBits - c.WorkerBits - 1 - c.EndBits
	fields := []Field{Time(c.TimeBits), Worker(c.WorkerBits), Rollback(1), Sequence(sequence)}
	if c.EndBits > 0 {
		fields = append(fields, Fixed("end", c.EndBits, c.End))
	} else if c.End != 0 {
		return Layout{}, &RangeError{Field: "end", Value: c.End, Max: 0}
	}
	return NewLayout(c.Epoch.Truncate(c.Unit), c.Unit, fields...)
}

// preset is NewLayout for fields that are known to be valid. It panics if they are not,
// but a test calls each preset.
func preset(epoch time.Time, unit time.Duration, fields ...Field) Layout {
	l, err := NewLayout(epoch, unit, fields...)
	if err != nil {
		panic(err)
	}
	return l
}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
