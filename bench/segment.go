package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
)

// segments measures the cost of a dense number while the database keeps granting more
// of them. It also measures how many statements this takes, and how long calls have to
// wait when demand suddenly rises.
func segments(dir string) (t topic, closeAll func() error, err error) {
	t = topic{
		name:  "Segment",
		title: "Dense numbers from databases that flush to disk; the yardstick is an atomic add whose sum is used",
		note: "At full speed, steps are 1,048,576 to 16,777,216 numbers. Where demand jumps from 1,000 to 100,000 a second, we use the\n" +
			"  default steps instead, and the ratio is the longest wait of a call divided by the longest time of a statement.\n" +
			fmt.Sprintf("  How long two cores take to pass a word to each other depends on where it is in memory, so %d segments take turns, and as many words of the yardstick.", places),
	}
	s := &servers{dir: dir}
	var sources []*segment.Segment
	closeAll = func() error {
		var errs []error
		for _, source := range sources {
			errs = append(errs, source.Close(context.Background()))
		}
		return errors.Join(append(errs, s.close())...)
	}
	for _, kind := range []struct {
		dialect string
		store   func(*sql.DB) *segmentstore.Store
	}{{"sqlite", segmentstore.SQLite}, {"postgres", segmentstore.Postgres}, {"mysql", segmentstore.MySQL}} {
		db, version, err := s.open(kind.dialect)
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			t.note += "\n  Not measured: " + line
			continue
		}
		store := &counted{store: kind.store(db)}
		if err := kind.store(db).Migrate(context.Background()); err != nil {
			return t, closeAll, err
		}
		var placed []*segment.Segment
		for i := range places {
			source, err := segment.New(store, segment.Config{Name: fmt.Sprint("full speed ", i), MinStep: 1 << 20, MaxStep: 1 << 24})
			if err != nil {
				return t, closeAll, err
			}
			sources, placed = append(sources, source), append(placed, source)
			// The first calls have to wait for the first statements, so don't measure them.
			if err := drawn(source)(1 << 24); err != nil {
				return t, closeAll, err
			}
		}
		draws := trial{
			against: "atomic add",
			pace:    pace{turn: time.Millisecond}, // shorter than the time slices of a busy machine
			times:   2,
			lines:   func(r result) []line { return []line{r.rated()} },
		}
		called := draws // includes the cost of a call that can't be inlined
		called.name = version + ", one goroutine, as an idgen.Source"
		called.work = inTurn(func(i int) workload { return drawnFrom(placed[i]) })
		called.yardstick = inTurn(func(int) workload { return adds() })
		draws.bar = bar{"≥ 0.92, 0 allocs", func(r result) bool { return r.rate().median >= 0.92 && r.allocs == 0 }}
		draws.lines = func(r result) []line { return []line{r.rated(), store.line(placed)} }
		for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
			draws.name = version + ", " + crowd(goroutines)
			draws.work = inTurn(func(i int) workload { return drawn(placed[i]).among(goroutines) })
			draws.yardstick = inTurn(func(int) workload { return adds().among(goroutines) })
			t.trials = append(t.trials, draws)
		}
		t.trials = append(t.trials, called, trial{
			name:  version + ", demand jumps",
			alone: func(d time.Duration) ([]line, error) { return jumps(version+", demand jumps", store, d) },
		})
	}
	return t, closeAll, nil
}

// places is how many sources, and how many words of the yardstick, take turns. How long
// two cores take to pass a word to each other depends on where it is in memory. With one
// source and one word, the ratio was 0.8 to 1.2.
const places = 8

func inTurn(place func(i int) workload) workload {
	all := make([]workload, places)
	for i := range all {
		all[i] = place(i)
	}
	turn := -1
	return func(n int) error {
		turn++
		return all[turn%places](n)
	}
}

// drawn takes one number at a time from s. It is safe for concurrent use.
//
// We must keep drawn from being inlined. Its caller is so long that the compiler would
// then no longer inline Next in the function that drawn returns.
//
//go:noinline
func drawn(s *segment.Segment) workload {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := s.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// drawnFrom is like drawn, but goes through the interface that the integrations use.
//
//go:noinline
func drawnFrom(s idgen.Source) workload {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := s.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// adds has the lowest possible cost of a unique number, which is an atomic add. It is
// safe for concurrent use, and all its callers update the same word.
func adds() workload {
	word := new(struct {
		_ [64]byte
		atomic.Int64
		_ [64]byte
	})
	return func(n int) error {
		var number int64
		for range n {
			number = word.Add(1)
		}
		runtime.KeepAlive(number)
		return nil
	}
}

// counted is a store that counts and times its statements.
type counted struct {
	store               segment.Store
	statements, longest atomic.Int64
}

func (c *counted) Fetch(ctx context.Context, f segment.Fetch) (int64, error) {
	began := time.Now()
	start, err := c.store.Fetch(ctx, f)
	took := int64(time.Since(began))
	c.statements.Add(1)
	for longest := c.longest.Load(); took > longest && !c.longest.CompareAndSwap(longest, took); {
		longest = c.longest.Load()
	}
	return start, err
}

// line returns how many statements a million numbers of the sources have taken.
func (c *counted) line(sources []*segment.Segment) line {
	var numbers float64
	for _, source := range sources {
		h := source.Health()
		numbers += float64(1<<63-2) - float64(h.Remaining) - float64(h.Ready)
	}
	return line{
		name: "  statements for a million numbers so far", cost: fmt.Sprintf("%.3g", float64(c.statements.Load())/numbers*1e6),
		against: "longest statement", theirs: nanos(float64(c.longest.Load())),
	}
}

// jumps repeatedly measures what happens when demand rises by a factor of a hundred.
func jumps(name string, store *counted, d time.Duration) ([]line, error) {
	var waits, statements, shares []float64
	for began, round := time.Now(), 0; round < 3 || time.Since(began) < 2*d; round++ {
		wait, statement, err := jump(fmt.Sprint("jump ", round), store, min(d, 300*time.Millisecond))
		if err != nil {
			return nil, err
		}
		waits, statements = append(waits, float64(wait)), append(statements, float64(statement))
		shares = append(shares, float64(wait)/float64(statement))
	}
	share := spreadOf(shares)
	return []line{{
		name: name, cost: nanos(spreadOf(waits).median), against: "longest statement", theirs: nanos(spreadOf(statements).median),
		ratio: share.format("%.2f", 1), bar: "≤ 1", verdict: verdict(share.median <= 1),
	}}, nil
}

// jump takes 1,000 numbers a second for d, followed by 100,000 a second for d. It
// returns the longest that a call had to wait at the higher rate, and how long the
// longest statement took.
func jump(name string, store *counted, d time.Duration) (wait, statement time.Duration, err error) {
	ctx := context.Background()
	own := &counted{store: store.store}
	s, err := segment.New(own, segment.Config{Name: name})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for _, each := range []int{1, 100} {
		wait = 0
		for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
			for range each {
				began := time.Now()
				if _, err := s.Next(ctx); err != nil {
					return 0, 0, err
				}
				wait = max(wait, time.Since(began))
			}
		}
	}
	return wait, time.Duration(own.longest.Load()), nil
}
