package idgen_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// makes reports whether l can make id in the tick of from or later.
func makes(l idgen.Layout, id int64, from time.Time) bool {
	if id <= 0 || width(l) < 64 && id>>width(l) != 0 {
		return false
	}
	p := l.Decode(id)
	var own []int64
	for _, f := range l.Fields() {
		if f.Fixed {
			own = append(own, f.Value)
		}
	}
	return slices.Equal(p.Fixed, own) && p.Time.Add(l.Unit()).After(from)
}

// ever is a time before all ids of a layout.
var ever time.Time

// checkOverlap reports whether the layouts overlap. If they do, it also checks the id
// in the error.
func checkOverlap(t *testing.T, l, old idgen.Layout, from time.Time) bool {
	t.Helper()
	err := l.Compatible(old, from)
	if err == nil {
		return false
	}
	e, ok := errors.AsType[*idgen.OverlapError](err)
	if !ok {
		t.Fatalf("error %v; want an OverlapError", err)
	}
	if !makes(l, e.ID, from) || !makes(old, e.ID, ever) || !reflect.DeepEqual(e.New, l.Decode(e.ID)) || !reflect.DeepEqual(e.Old, old.Decode(e.ID)) {
		t.Fatalf("from %v\n%v\nafter\n%v\n%v", from, l, old, err)
	}
	return true
}

// smallLayout has only 8 to 12 bits, a unit of some nanoseconds and an epoch of 2025.
func smallLayout(r *rand.Rand) idgen.Layout {
	for {
		fields := randomFields(r, 8+r.IntN(5))
		for i, f := range fields {
			if f.Fixed {
				fields[i].Value = r.Int64N(1 << f.Bits)
			}
		}
		l, err := idgen.NewLayout(epoch.Add(time.Duration(r.Int64N(50))), time.Duration(1+r.Int64N(5)), fields...)
		if err == nil {
			return l
		}
	}
}

func TestCompatibleAgreesWithBruteForce(t *testing.T) {
	raced.Skip(t)
	r := rand.New(rand.NewPCG(9, 10))
	verdicts := map[bool]int{}
	for range 500 {
		l, old := smallLayout(r), smallLayout(r)
		// The times range from before l's epoch until after its end.
		from := l.Epoch().Add(time.Duration(r.Int64N(int64(l.Lifetime().End.Sub(l.Epoch()))+20)) - 10)
		want := false
		for id := int64(1); id < 1<<12 && !want; id++ {
			want = makes(l, id, from) && makes(old, id, ever)
		}
		if got := checkOverlap(t, l, old, from); got != want {
			t.Fatalf("overlap %v; want %v: from %v\n%v\nafter\n%v", got, want, from, l, old)
		}
		verdicts[want]++
	}
	if verdicts[true] < 50 || verdicts[false] < 50 {
		t.Errorf("the layouts were too much alike: %v", verdicts)
	}
}

// Layouts of up to 64 bits have far too many ids to try them all, so we just try some
// ids of one layout with the other.
func TestCompatibleMissesNoID(t *testing.T) {
	raced.Skip(t)
	r := rand.New(rand.NewPCG(11, 12))
	met := 0
	for range 3000 {
		l, err1 := randomLayout(r)
		old, err2 := randomLayout(r)
		if err1 != nil || err2 != nil {
			continue
		}
		from := l.Epoch().Add(time.Duration(r.Int64() >> r.IntN(63)))
		overlap := checkOverlap(t, l, old, from)
		for range 20 {
			id := r.Int64() >> r.IntN(63) &^ (1<<r.IntN(20) - 1)
			if makes(l, id, from) && makes(old, id, ever) {
				met++
				if !overlap {
					t.Fatalf("id %d is of both: from %v\n%v\nafter\n%v", id, from, l, old)
				}
			}
		}
	}
	if met < 1000 {
		t.Errorf("only %d ids of two layouts were found", met)
	}
}

func TestCompatible(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	layout := func(fields ...idgen.Field) idgen.Layout {
		return errtest.Must(idgen.NewLayout(epoch, time.Millisecond, fields...))(t)
	}
	def, unsigned := idgen.DefaultLayout(), layout(idgen.Time(42), idgen.Sequence(22))
	tiny := layout(idgen.Time(1), idgen.Sequence(1))
	for _, tt := range []struct {
		name   string
		l, old idgen.Layout
		from   time.Time
		want   bool
	}{
		{"the same", def, def, now, false},
		{"the same after its end", def, def, def.Lifetime().End, true},
		{"another datacenter", errtest.Must(preset("twitter").WithFixed("datacenter", 3))(t), errtest.Must(preset("twitter").WithFixed("datacenter", 4))(t), now, true},
		{"more worker bits", layout(idgen.Time(41), idgen.Worker(12), idgen.Sequence(10)), def, now, false},
		{"more worker bits behind a mark", layout(idgen.Time(40), idgen.Fixed("mark", 1, 1), idgen.Worker(12), idgen.Sequence(10)),
			layout(idgen.Time(40), idgen.Fixed("mark", 1, 0), idgen.Worker(10), idgen.Sequence(12)), now, true},
		{"JSSafe to 63 bits", def, idgen.JSSafe(), now, true},
		{"JSSafe to 63 bits in its first days", def, idgen.JSSafe(), epoch.AddDate(0, 0, 1), false},
		{"63 bits to JSSafe", idgen.JSSafe(), def, now, false},
		{"a later epoch", errtest.Must(def.WithEpoch(epoch.AddDate(1, 0, 0)))(t), def, now, false},
		// Ids of the current tick count too.
		{"one bit more, in its last shared tick", layout(idgen.Time(42), idgen.Sequence(12)), layout(idgen.Time(41), idgen.Sequence(12)), epoch.Add((1<<41 - 1) * time.Millisecond), false},
		{"one bit more, after its last shared tick", layout(idgen.Time(42), idgen.Sequence(12)), layout(idgen.Time(41), idgen.Sequence(12)), epoch.Add((1 << 41) * time.Millisecond), true},
		// These two have only negative ids in common.
		{"negative ids are none", unsigned, layout(idgen.Time(1), idgen.Fixed("zero", 41, 0), idgen.Sequence(22)), unsigned.Lifetime().End.Add(-1), true},
		// These have only 0 in common.
		{"0 is no id", tiny, layout(idgen.Time(1), idgen.Sequence(1), idgen.Fixed("low", 2, 0)), ever, true},
		{"all but 0", tiny, tiny, ever, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := !checkOverlap(t, tt.l, tt.old, tt.from); got != tt.want {
				t.Errorf("%s: compatible is %v; want %v", tt.name, got, tt.want)
			}
		})
	}
}

// A time field may have more ticks than a Duration can hold. In that case the last tick
// has zeros among its bits, while earlier ticks have ones in these places.
func TestCompatibleOfWideTimeFields(t *testing.T) {
	layout := func(fields ...idgen.Field) idgen.Layout {
		return errtest.Must(idgen.NewLayout(epoch, time.Millisecond, append(fields, idgen.Worker(4), idgen.Sequence(4))...))(t)
	}
	wide := layout(idgen.Time(55))
	const last = int64(1<<63-1) / int64(time.Millisecond) // approximately the last tick of the wide layout
	for bit := 15; bit < 55; bit++ {
		narrow := layout(idgen.Fixed("high", 40, 1<<(bit-15)), idgen.Time(15))
		want := int64(1)<<bit <= last // whether the wide layout has these ticks
		if checkOverlap(t, narrow, wide, epoch) != want || checkOverlap(t, wide, narrow, epoch) != want {
			t.Errorf("bit %d: want an overlap is %t", bit, want)
		}
	}
}
