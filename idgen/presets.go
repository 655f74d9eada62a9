package idgen

import (
	"fmt"
	"iter"
	"strings"
	"time"
)

// DefaultLayout has 41 bits for milliseconds since 2025-01-01, 10 for the worker and 12
// for the sequence. That's 1,024 workers with 4,096,000 ids a second each, until 2094.
func DefaultLayout() Layout { return presets[0].layout }

// JSSafe keeps ids below 2^53, so they fit in a JavaScript number. It has 37 bits for
// units of 10 ms since 2025-01-01, 10 for the worker and 6 for the sequence. That's 1,024
// workers with 6,400 ids a second each, until 2068. You don't need this layout if your
// ids are strings in JSON.
func JSSafe() Layout { return presets[1].layout }

// presets are the layouts that have names. The vectors in testdata come from the documents
// and tests of these systems, and testdata/README.md names the source of each.
var presets = []struct {
	name   string
	layout Layout
}{
	{"default", preset(1735689600000, time.Millisecond, Time(41), Worker(10), Sequence(12))},
	{"jssafe", preset(1735689600000, 10*time.Millisecond, Time(37), Worker(10), Sequence(6))},
	{"twitter", preset(1288834974657, time.Millisecond, Time(41), Fixed("datacenter", 5, 0), Worker(5), Sequence(12))},
	// Many Java programs count from this day in UTC+8 instead, which is 1420041600000.
	{"twitter2015", preset(1420070400000, time.Millisecond, Time(41), Fixed("datacenter", 5, 0), Worker(5), Sequence(12))},
	{"discord", preset(1420070400000, time.Millisecond, Time(42), Worker(5), Fixed("process", 5, 0), Sequence(12))},
	{"instagram", preset(1314220021721, time.Millisecond, Time(41), Worker(13), Sequence(10))},
	{"mastodon", preset(0, time.Millisecond, Time(48), Sequence(16))},
	{"sonyflake", preset(1409529600000, 10*time.Millisecond, Time(39), Sequence(8), Worker(16))},
	{"tsid", preset(1577836800000, time.Millisecond, Time(42), Worker(10), Sequence(12))},
	{"baidu", preset(1463673600000, time.Second, Time(28), Worker(22), Sequence(13))},
	{"datacenter-process", preset(1580486400000, time.Millisecond, Time(41), Fixed("datacenter", 3, 0), Worker(5), Rollback(2), Sequence(12))},
}

// preset is NewLayout for fields that are known to be valid. The epoch is in milliseconds
// since 1970.
func preset(epoch int64, unit time.Duration, fields ...Field) Layout {
	l, err := NewLayout(time.UnixMilli(epoch), unit, fields...)
	if err != nil {
		panic(err)
	}
	return l
}

// Preset returns the layout with one of the names in [Presets].
func Preset(name string) (Layout, error) {
	var names []string
	for preset, layout := range Presets() {
		if preset == name {
			return layout, nil
		}
		names = append(names, preset)
	}
	return Layout{}, fmt.Errorf("idgen: there is no preset %q; the presets are %s", name, strings.Join(names, ", "))
}

// Presets returns the named layouts. After [DefaultLayout] and [JSSafe], most of the
// others read and write the ids of existing systems; docs/layouts.md lists their fields,
// units and dates. Fixed fields (like the datacenter of twitter) are 0, see
// [Layout.WithFixed]. Time has run out for baidu in 2024, so you'd need
// [Layout.WithEpoch] to make new ids.
func Presets() iter.Seq2[string, Layout] {
	return func(yield func(string, Layout) bool) {
		for _, p := range presets {
			if !yield(p.name, p.layout) {
				return
			}
		}
	}
}
