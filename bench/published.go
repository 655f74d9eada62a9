package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
)

// published shows what generators in other languages report of themselves, beside what
// we measure here.
func published(p *pools) study {
	const (
		cosid   = "[README of CosId](https://github.com/Ahoo-Wang/CosId/blob/main/README.md)"
		baidu   = "[README of uid-generator](https://github.com/baidu/uid-generator/blob/master/README.md)"
		ferroid = "[BENCHMARKS.md of ferroid](https://github.com/s0l0ist/ferroid/blob/main/crates/ferroid/BENCHMARKS.md)"
		m1      = "MacBook Pro, M1"
		m1Pro   = "Apple M1 Pro, 10 cores"
	)
	theirs := []struct {
		name    string
		figure  float64 // ns an id
		machine string
		source  string
		ours    string
	}{
		{"CosId SegmentChainId, Java", 1e9 / 127_439_148, m1, cosid, "segment"},
		{"CosId SnowflakeId, Java", 1e9 / 4_095_403, m1, cosid, "DefaultLayout"},
		{"uid-generator CachedUidGenerator, Java, the best of its settings", 1e9 / 7_617_440, "4 cores, not named", baidu, "a layout with room"},
		{"ferroid BasicSnowflakeGenerator, Rust, not safe for concurrent use", 0.94, m1Pro, ferroid, "a layout with room"},
		{"ferroid AtomicSnowflakeGenerator, Rust", 1.56, m1Pro, ferroid, "a layout with room"},
	}
	const title = "Figures that others publish"
	return study{title: title, measure: func(d time.Duration) (found findings, err error) {
		numbers, err := segment.New(new(segmenttest.Memory), segment.Config{Name: "published", MinStep: 1 << 20, MaxStep: 1 << 24})
		if err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, numbers.Close(context.Background())) }()
		costs := map[string]string{}
		for name, work := range map[string]workload{
			"segment":            drawn(numbers),
			"DefaultLayout":      one(p.full.Named("published")),
			"a layout with room": one(p.room.Named("published")),
		} {
			n, err := fit(work, d)
			if err != nil {
				return found, err
			}
			t, err := take(work, n)
			if err != nil {
				return found, err
			}
			costs[name] = name + ": " + rate(t.wallEach())
		}
		s := sheet{
			title: title,
			note: "The machines differ, so do not read a ratio out of a row: we did not run these generators. Their figures are from the pages named here, " +
				"and ours from this run and this machine, with one goroutine. SegmentChainId and our segment both hand out numbers that a store granted; " +
				"ours is an in-memory store here.",
			columns: []string{"generator", "published", "its machine", "source", "Snowkey on this machine"},
		}
		for _, row := range theirs {
			s.rows = append(s.rows, []string{row.name, rate(row.figure), row.machine, row.source, costs[row.ours]})
		}
		found.sheets = []sheet{s}
		return found, nil
	}}
}

// rate prints the time of an id, and the number of ids in a second.
func rate(ns float64) string { return fmt.Sprintf("%s, %.3g M/s", nanos(ns), 1e3/ns) }
