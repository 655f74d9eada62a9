package idgen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
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

func TestIDsAreNotMultiplesOfAConstant(t *testing.T) {
	raced.Skip(t)
	day := 0
	for name, layout := range presets(t) {
		day++ // no other test has this layout, so we don't start above an earlier pool
		t.Run(name, func(t *testing.T) {
			layout = must(layout.WithEpoch(epoch.AddDate(0, 0, -day)))(t)
			// Sonyflake has the worker in the lowest bits, so we can't use worker
			// number 0 there.
			ids := draw(t, idgen.Config{Layout: layout, Worker: func(int) (int64, error) {
				if layout.Decode(-1).Worker == 0 {
					return 0, nil
				}
				return 1, nil
			}}, 1000, 1/(3*layout.Unit().Seconds()), false)
			var divisor int64
			for _, id := range ids {
				for a := id; a != 0; {
					divisor, a = a, divisor%a
				}
			}
			if divisor > 1 && name != "Raindrop" {
				t.Errorf("%s: all ids are multiples of %d", name, divisor)
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
