package idgen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// unevenness returns the N from 2 to 1024 for which id % N is least even, together with
// the number of standard deviations by which its chi-squared is too large.
func unevenness(ids []int64) (worst int, z float64) {
	for n := 2; n <= 1024; n++ {
		counts := make([]float64, n)
		for _, id := range ids {
			counts[id%int64(n)]++
		}
		expected, chi2 := float64(len(ids))/float64(n), 0.0
		for _, c := range counts {
			chi2 += (c - expected) * (c - expected) / expected
		}
		// According to Wilson and Hilferty, the cube root of chi-squared divided by its
		// degrees of freedom is nearly normal.
		v := 2 / (9 * float64(n-1))
		if d := (math.Cbrt(chi2/float64(n-1)) - (1 - v)) / math.Sqrt(v); n == 2 || d > z {
			worst, z = n, d
		}
	}
	return worst, z
}

// draw returns n ids taken at a rate per second, either regularly or at random times.
// Since the ids of one tick are consecutive, they aren't independent samples, so if a
// tick has several ids, draw returns only one of them.
func draw(t *testing.T, cfg idgen.Config, n int, rate float64, regular bool) []int64 {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(rate), 7))
	clock := holdClock(epoch.AddDate(1, 2, 3))
	cfg.Clock = clock.Now
	pool := newPool(t, cfg)
	perTick := max(int(rate*pool.Layout().Unit().Seconds()), 1)
	ids := make([]int64, n)
	for i := range n * perTick {
		gap := time.Duration(float64(time.Second) / rate)
		if !regular {
			gap = time.Duration(r.ExpFloat64() * float64(time.Second) / rate)
		}
		clock.step(gap)
		ids[i/perTick] = mustNext(t, pool)
	}
	return ids
}

// Six standard deviations happen once in a billion. At a regular rate, only the offset
// makes id % N differ for some N. It has 4,096 values, which are 6 or 7 for each rest of
// 640, say. In 20,480 ids that alone makes up to 3.4 standard deviations.
func TestModuloIsEven(t *testing.T) {
	raced.Skip(t)
	const n, limit = 20 * 1024, 6 + 3.4
	for _, rate := range []float64{1, 100, 10_000} {
		for _, regular := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v per second, regular %v", rate, regular), func(t *testing.T) {
				if worst, z := unevenness(draw(t, idgen.Config{}, n, rate, regular)); z > limit {
					t.Errorf("id %% %d is uneven by %.1f standard deviations", worst, z)
				}
			})
		}
	}
}

// docs/layouts.md says how many of N shards get rows if each row goes to shard id % N,
// at exactly one id a second. It has a row for each layout with which not all of them do.
func TestModuloPage(t *testing.T) {
	raced.Skip(t)
	page := errtest.Must(os.ReadFile("../docs/layouts.md"))(t)
	shards := []int64{2, 3, 10, 64, 100, 128, 1000}
	for name, layout := range idgen.Presets() {
		t.Run(name, func(t *testing.T) {
			layout := errtest.Must(layout.WithEpoch(epoch))(t) // some have no ids at the time of draw
			ids := draw(t, idgen.Config{Layout: layout, Worker: worker.Static(0)}, 20*1000, 1, true)
			cells := []string{"| `" + name + "`"}
			for _, n := range shards {
				used := map[int64]bool{}
				for _, id := range ids {
					used[id%n] = true
				}
				cells = append(cells, strconv.Itoa(len(used)))
			}
			row := strings.Join(cells, " | ") + " |"
			all := row == "| `"+name+"` | 2 | 3 | 10 | 64 | 100 | 128 | 1000 |"
			if strings.Contains(string(page), row+"\n") == all {
				t.Errorf("docs/layouts.md must have this row, unless all shards get rows:\n%s", row)
			}
		})
	}
}

// A generator at its maximum rate is never idle, so the spread should not skip
// anything. All 4,096 numbers of each tick are used.
func TestSpreadSkipsNothingAtTheMaximumRate(t *testing.T) {
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: 2 * time.Millisecond, MaxWait: -1})
	layout := pool.Layout()
	perTick := map[time.Time]int{}
	for range 20 {
		for {
			id, err := pool.Next(t.Context())
			if err != nil {
				break
			}
			perTick[layout.Decode(id).Time]++
		}
		clock.step(time.Millisecond)
	}
	short := 0
	for _, n := range perTick {
		if n != 4096 {
			short++
		}
	}
	if len(perTick) < 20 || short > 1 {
		t.Errorf("%d of %d ticks are not full; only the first may be", short, len(perTick))
	}
}
