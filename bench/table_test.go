package main

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMeasure runs everything as briefly as possible. Each trial must still produce at
// least one line.
func TestMeasure(t *testing.T) {
	s, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	table, err := s.measure(time.Millisecond)
	if err := errors.Join(err, s.close()); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	table.print(&b)
	for _, topic := range s.topics {
		for _, trial := range topic.trials {
			if trial.alone == nil && !strings.Contains(b.String(), "\n  "+trial.name+" ") {
				t.Errorf("no line for %s, %s", topic.name, trial.name)
			}
		}
	}
	for _, p := range table.parts {
		if len(p.lines) < len(p.topic.trials) {
			t.Errorf("%s has %d trials and %d lines", p.topic.name, len(p.topic.trials), len(p.lines))
		}
	}
	t.Log(b.String())
}

func TestCompareTakesTurns(t *testing.T) {
	var order strings.Builder
	log := func(name string) workload {
		return func(int) error { order.WriteString(name); return nil }
	}
	c, err := compare(log("a"), log("b"), pace{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Expect one call of each to measure its time, followed by the turns.
	if got, want := order.String(), "ab"+"ab"+"ba"+"ab"; got != want {
		t.Errorf("turns are %s, want %s", got, want)
	}
	if len(c.ours) != 3 || len(c.theirs) != 3 {
		t.Errorf("%d and %d turns, want 3 each", len(c.ours), len(c.theirs))
	}
}

func TestCompareReportsErrors(t *testing.T) {
	broken := errors.New("broken")
	fine := repeat(func() error { return nil })
	fails := repeat(func() error { return broken }).among(2)
	for _, sides := range [][2]workload{{fine, fails}, {fails, fine}} {
		if _, err := compare(sides[0], sides[1], pace{}, 0); !errors.Is(err, broken) {
			t.Errorf("error is %v, want %v", err, broken)
		}
	}
}

func TestAmongDoesAllTheWork(t *testing.T) {
	for _, n := range []int{0, 1, 63, 1000, 100_003} {
		var pieces atomic.Int64
		w := workload(func(n int) error { pieces.Add(int64(n)); return nil })
		if err := w.among(64)(n); err != nil || pieces.Load() != int64(n) {
			t.Errorf("%d pieces, %v; want %d", pieces.Load(), err, n)
		}
	}
}

func TestAmongIsSoMany(t *testing.T) {
	var all sync.WaitGroup
	all.Add(64)
	var calls atomic.Int64
	w := workload(func(int) error {
		if calls.Add(1) <= 64 { // don't return before all of the others have started
			all.Done()
			all.Wait()
		}
		return nil
	})
	if err := w.among(64)(6400); err != nil {
		t.Error(err)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{7}, spread{7, 7, 7}},
		{[]float64{4, 2}, spread{2, 3, 4}},
		{[]float64{5, 1, 3, 2, 4}, spread{2, 3, 4}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("spread of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestTableNamesWhatIsUndecided(t *testing.T) {
	table := table{parts: []part{{
		topic: topic{name: "Topic"},
		lines: []line{{name: "fast", verdict: met}, {name: "even", ratio: "1.01 ± 0.02", verdict: undecided}, {name: "free"}, {name: "slow", verdict: missed}},
	}}}
	want := "1 of 3 bars are MISSED, and 1 are undecided:\n  Topic, slow\n  Topic, even: 1.01 ± 0.02, which is above the bar, but by no more than it may be off"
	if got := table.summary(); got != want {
		t.Errorf("the summary is\n%swant\n%s", got, want)
	}
}
