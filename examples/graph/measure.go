package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// There are two kinds of load.
const (
	perGraph = "one order after another"
	bulk     = "in bulk"
)

// A job is a load along with the ways to write it. The first way always uses the pool's
// keys, and the others are compared with it.
type job struct {
	title  string
	orders int // per transaction
	ways   []way
}

// A server is a database whose performance we measure.
type server interface {
	describe(ctx context.Context) (string, error)
	exec(ctx context.Context, statement string) error
	jobs(pool *idgen.Pool, o options) []job
	close(ctx context.Context)
}

// A result has the times that a job's ways took in each round.
type result struct {
	job
	foreignKeys bool
	took        [][]time.Duration // for each way
}

// measure lets the ways take turns, starting with empty tables. Any noise on the
// machine affects all ways of a round alike, which makes a round's ratio more precise
// than the ratio of two means.
func measure(ctx context.Context, s server, j job, foreignKeys bool, rounds int) (r result, err error) {
	for _, w := range j.ways {
		for _, statement := range append(w.tables.drop(), w.tables.create(foreignKeys)...) {
			if err := s.exec(ctx, statement); err != nil {
				return r, err
			}
		}
		defer func() {
			for _, statement := range w.tables.drop() {
				err = errors.Join(err, s.exec(ctx, statement))
			}
		}()
	}
	r = result{j, foreignKeys, make([][]time.Duration, len(j.ways))}
	for round := range 1 + rounds {
		for turn := range j.ways {
			n := (turn + round) % len(j.ways)
			if round%2 == 1 {
				n = len(j.ways) - 1 - n
			}
			took, err := j.ways[n].write(ctx, j.orders)
			if err != nil {
				return r, fmt.Errorf("%s, %s: %w", j.title, j.ways[n].name, err)
			}
			if round > 0 { // don't count the first round, which prepares statements and fills caches
				r.took[n] = append(r.took[n], took)
			}
		}
	}
	return r, nil
}

// each returns the median time of one order with the n-th way.
func (r result) each(n int) time.Duration {
	sorted := slices.Sorted(slices.Values(r.took[n]))
	return sorted[len(sorted)/2] / time.Duration(r.orders)
}

// faster returns how many times as long as the first way the n-th way took.
func (r result) faster(n int) spread {
	ratios := make([]float64, len(r.took[n]))
	for round := range ratios {
		ratios[round] = float64(r.took[n][round]) / float64(r.took[0][round])
	}
	slices.Sort(ratios)
	last := len(ratios) - 1
	return spread{ratios[last/4], (ratios[last/2] + ratios[last-last/2]) / 2, ratios[last-last/4]}
}

// A spread is the median of many ratios, along with their quartiles.
type spread struct{ low, median, high float64 }
