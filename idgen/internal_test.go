package idgen

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// ForgetWorkers makes worker numbers unused that no pool has now. Otherwise, a pool
// starts above the ids of an earlier test, some of which are of the year 2094.
func ForgetWorkers() {
	for key, c := range claims.Range {
		if c := c.(*claim); c.TryLock() {
			claims.Delete(key)
			c.Unlock()
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
		var p core
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
	p, err := NewLeased(Config{}, func(leased.Issuer) (leased.Keeper, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	g := &p.main
	g.begin(1, last+1, p.limit, 0)
	g.skipped.Add(first - last - 1)
	if n := p.Stats().Issued; n > 2 {
		t.Errorf("a reader between the steps counts %d ids", n)
	}
	g.skipped.Add(-(first - last - 1))
	if !g.take(g.tenure.Load(), last, first, final) || p.Stats().Issued != 2 {
		t.Errorf("%d ids were issued, want 2", p.Stats().Issued)
	}
	if g.take(g.tenure.Load(), last, first, final) || p.Stats().Issued != 2 {
		t.Errorf("after a call that lost the race, %d ids were issued, want 2", p.Stats().Issued)
	}
}
