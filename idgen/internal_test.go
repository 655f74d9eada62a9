package idgen

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// ForgetWorkers makes worker numbers unused that no pool has now. Otherwise, a pool
// starts above the ids of an earlier test, some of which are of the year 2094.
func ForgetWorkers() {
	claims.Lock()
	defer claims.Unlock()
	for key, c := range claims.byKey {
		if !c.held {
			delete(claims.byKey, key)
		}
	}
}

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

// A reader between the two steps of take may count too few ids, but not too many.
func TestStatsWhileNumbersAreSkipped(t *testing.T) {
	const last, first, final = 10, 4096, 4097 // take issues two ids
	s := begun(&tenure{before: last})
	s.skipped.Add(first - last - 1)
	if n := s.count(s.last.Load()); n > 2 {
		t.Errorf("a reader between the steps counts %d ids", n)
	}
	s = begun(&tenure{before: last})
	if !s.take(last, first, final) || s.count(s.last.Load()) != 2 {
		t.Errorf("%d ids were issued, want 2", s.count(s.last.Load()))
	}
	if s.take(last, first, final) || s.count(s.last.Load()) != 2 {
		t.Errorf("after a call that lost the race, %d ids were issued, want 2", s.count(s.last.Load()))
	}
}

func begun(t *tenure) *sequence {
	g := &Generator{core: &core{unit: 1}}
	g.begin(t, 0)
	return g.seq.Load()
}
