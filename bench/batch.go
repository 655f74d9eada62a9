package main

import (
	"context"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// batch measures the cost of an id when a single call returns a thousand.
func batch(p *pools) topic {
	const size = 1000
	pace := pace{turn: 5 * time.Millisecond}
	bar := bar{"≤ 2 ns an id", func(r result) bool { return r.cost() <= 2 }}
	t := topic{
		name:  "Batch",
		title: "A thousand at a time, with room in the layout (costs per id)",
		trials: []trial{
			{name: "NextN(1000)", work: nextNs(p.room.Named("NextN"), size), against: "make([]int64, 1000)", yardstick: makeSlices(size), pace: pace, pieces: size, bar: bar},
			{name: "Append of 1000", work: appends(p.room.Named("Append"), size), against: "counting into a slice", yardstick: counts(size), pace: pace, pieces: size, bar: bar},
		},
	}
	// None of the peers can return several ids from one call.
	for _, peer := range []struct {
		name string
		one  workload
	}{{"rs/xid", xidOne}, {"oklog/ulid", ulidOne}, {"google/uuid v7", uuidOne}} {
		t.trials = append(t.trials, trial{
			name: "Append of 1000", work: appends(p.room.Named("Append"), size),
			against: peer.name + ", one by one", yardstick: func(n int) error { return peer.one(n * size) },
			pace: pace, pieces: size, peer: itsYardstick,
		})
	}
	return t
}

func nextNs(g *idgen.Generator, size int) workload {
	ctx := context.Background()
	return func(n int) (err error) {
		for range n {
			if kept.ids, err = g.NextN(ctx, size); err != nil {
				return err
			}
		}
		return nil
	}
}

func makeSlices(size int) workload {
	return func(n int) error {
		for range n {
			kept.ids = make([]int64, size)
		}
		return nil
	}
}

func appends(g *idgen.Generator, size int) workload {
	ctx := context.Background()
	dst := make([]int64, 0, size)
	return func(n int) (err error) {
		for range n {
			if dst, err = g.Append(ctx, dst[:0], size); err != nil {
				return err
			}
		}
		return nil
	}
}

func counts(size int) workload {
	dst := make([]int64, size)
	next := int64(0)
	return func(n int) error {
		for range n {
			for i := range dst {
				dst[i] = next
				next++
			}
		}
		return nil
	}
}
