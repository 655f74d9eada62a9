package main

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMeasure runs everything as briefly as possible. Each trial must still produce at
// least one line.
func TestMeasure(t *testing.T) {
	s := dbtest.Must(open(t.TempDir()))(t)
	table, err := s.measure(time.Millisecond)
	dbtest.NoError(t, errors.Join(err, s.close()))
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
