package idgen

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// The multiplication in tick must give the same as a division, also next to multiples of
// the unit.
func TestTickIsADivision(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	units := []time.Duration{1, 2, 3, 5, 7, time.Microsecond, 1500, 1 << 20, 1<<20 + 1, time.Millisecond, 10 * time.Millisecond, time.Second, time.Hour,
		24 * time.Hour, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for range 1000 {
		units = append(units, time.Duration(r.Uint64()>>1>>r.IntN(62)|1))
	}
	for _, unit := range units {
		var p packing
		p.setUnit(unit)
		check := func(now time.Duration) {
			if now < 0 {
				return
			}
			if got, want := p.tick(now), int64(now/unit); got != want {
				t.Fatalf("the tick of %d with a unit of %d is %d, want %d", now, unit, got, want)
			}
		}
		for range 20 {
			multiple := time.Duration(r.Int64N(max(math.MaxInt64/int64(unit), 1))) * unit
			for off := range time.Duration(3) {
				check(multiple + off - 1)
			}
		}
		for off := range time.Duration(3) {
			check(math.MaxInt64 - off)
			check(math.MaxInt64/unit*unit - off)
			check(off)
		}
	}
}
