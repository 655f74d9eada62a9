package idgen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func TestNewLayoutRefuses(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name   string
		epoch  time.Time
		unit   time.Duration
		fields []idgen.Field
		field  string // the field in the error
		remedy string // a part of the message
	}{
		{"no time", epoch, ms, []idgen.Field{idgen.Sequence(12)}, "sequence", "above time"},
		{"nothing", epoch, ms, nil, "time", "add idgen.Time"},
		{"no sequence", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Worker(10)}, "sequence", "add idgen.Sequence"},
		{"65 bits", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Worker(12), idgen.Sequence(12)}, "layout", "63 bits"},
		{"zero bits", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Worker(0), idgen.Sequence(12)}, "worker", "leave the field out"},
		{"negative bits", epoch, ms, []idgen.Field{idgen.Time(-1), idgen.Sequence(12)}, "time", "use 1 to 63"},
		{"worker above time", epoch, ms, []idgen.Field{idgen.Worker(10), idgen.Time(41), idgen.Sequence(12)}, "worker", "put it below"},
		{"two sequences", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Sequence(6), idgen.Sequence(6)}, "sequence", "rename"},
		{"two workers", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Worker(5), {Name: "worker", Bits: 5}, idgen.Sequence(6)}, "worker", "rename"},
		{"same name", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Fixed("a", 2, 0), idgen.Fixed("a", 2, 0), idgen.Sequence(6)}, "a", "rename"},
		{"no name", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Fixed("", 2, 0), idgen.Sequence(6)}, "field", "name"},
		{"worker by another name", epoch, ms, []idgen.Field{idgen.Time(41), {Name: "node", Bits: 5}, idgen.Sequence(6)}, "node", "idgen.Fixed"},
		{"worker with a value", epoch, ms, []idgen.Field{idgen.Time(41), {Name: "worker", Bits: 5, Value: 1}, idgen.Sequence(6)}, "worker", "leave it out"},
		{"colon in a name", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Fixed("a:1", 2, 0), idgen.Sequence(6)}, "a:1", "rename"},
		{"bar in a name", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Fixed("a │ b", 2, 0), idgen.Sequence(6)}, "a │ b", "rename"},
		{"percent in a name", epoch, ms, []idgen.Field{idgen.Time(41), idgen.Fixed("50%d", 2, 7), idgen.Sequence(6)}, "50%d", "7 does not fit its field (0 to 3)"},
		{"sign bit set", epoch, ms, []idgen.Field{idgen.Fixed("top", 1, 1), idgen.Time(41), idgen.Worker(10), idgen.Sequence(12)}, "top", "zero in its highest bit"},
		{"epoch before 1970", time.Unix(-1, 0), ms, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "epoch", "later"},
		{"epoch after 9999", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), ms, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "epoch", "earlier"},
		{"no unit", epoch, 0, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "unit", "time.Millisecond"},
		{"negative unit", epoch, -ms, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "unit", "not positive"},
		{"outlasts the calendar", epoch, 24 * time.Hour, []idgen.Field{idgen.Time(62), idgen.Sequence(1)}, "time", "fewer bits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := idgen.NewLayout(tt.epoch, tt.unit, tt.fields...)
			if err == nil || !strings.HasPrefix(err.Error(), "idgen: invalid layout: "+tt.field+" ") || !strings.Contains(err.Error(), tt.remedy) {
				t.Errorf("error %v; want one about %q that says %q", err, tt.field, tt.remedy)
			}
			if !l.IsZero() {
				t.Errorf("returned the layout %v beside an error", l)
			}
		})
	}
}

func TestFixedValueOutOfRange(t *testing.T) {
	for _, v := range []int64{-1, 8} {
		_, made := idgen.NewLayout(epoch, time.Millisecond, idgen.Time(41), idgen.Fixed("datacenter", 3, v), idgen.Sequence(12))
		_, changed := preset("datacenter-process").WithFixed("datacenter", v)
		want := fmt.Sprintf("datacenter %d does not fit its field (0 to 7)", v)
		for _, err := range []error{made, changed} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("datacenter %d: %v", v, err)
			}
		}
	}
	if _, err := preset("twitter").WithFixed("rack", 1); err == nil {
		t.Error("WithFixed took a field that the layout does not have")
	}
	if _, err := preset("twitter").WithFixed("worker", 1); err == nil {
		t.Error("WithFixed took the worker field")
	}
}

// randomLayout returns a layout with random fields, unit and epoch, or an error if they
// don't make a valid layout.
func randomLayout(r *rand.Rand) (idgen.Layout, error) {
	units := []time.Duration{time.Nanosecond, 7 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute, time.Hour}
	return idgen.NewLayout(time.Unix(r.Int64N(4e9), r.Int64N(1e9)), units[r.IntN(len(units))], randomFields(r, 8+r.IntN(57))...)
}

// randomFields returns fields in a random valid order, which are total bits wide. Fixed
// fields have the value 0 and may be anywhere, whereas the others are below time.
func randomFields(r *rand.Rand, total int) []idgen.Field {
	below := []idgen.Field{idgen.Sequence(1)}
	if r.IntN(4) > 0 {
		below = append(below, idgen.Worker(1))
	}
	if r.IntN(3) == 0 {
		below = append(below, idgen.Rollback(1))
	}
	for i := range r.IntN(3) {
		below = append(below, idgen.Fixed("low"+string(rune('a'+i)), 1, 0))
	}
	r.Shuffle(len(below), func(i, j int) { below[i], below[j] = below[j], below[i] })
	fields := append([]idgen.Field{idgen.Time(1)}, below...)
	if r.IntN(4) == 0 {
		fields = append([]idgen.Field{idgen.Fixed("high", 1, 0)}, fields...)
	}
	for range total - len(fields) {
		fields[r.IntN(len(fields))].Bits++
	}
	return fields
}

func width(l idgen.Layout) (bits int) {
	for _, f := range l.Fields() {
		bits += f.Bits
	}
	return bits
}

func TestBetween(t *testing.T) {
	fixed := errtest.Must(idgen.NewLayout(epoch, time.Millisecond, idgen.Fixed("era", 2, 1), idgen.Time(39), idgen.Worker(10), idgen.Sequence(12)))(t)
	for _, l := range []idgen.Layout{idgen.DefaultLayout(), fixed} {
		end := l.Lifetime().End
		at := func(d time.Duration, worker, sequence int64) int64 {
			return errtest.Must(l.Compose(idgen.Parts{Time: epoch.Add(d), Worker: worker, Sequence: sequence}))(t)
		}
		life := end.Sub(epoch)
		const ms = time.Millisecond
		for _, c := range []struct {
			from, to    time.Time
			first, last int64
		}{
			{epoch.Add(5 * ms), epoch.Add(7 * ms), at(5*ms, 0, 0), at(6*ms, 1023, 4095)},
			{epoch.Add(5 * ms), epoch.Add(7*ms + 1), at(5*ms, 0, 0), at(7*ms, 1023, 4095)},
			{epoch.Add(5*ms + 1), epoch.Add(5*ms + 2), at(5*ms, 0, 0), at(5*ms, 1023, 4095)},
			{epoch.Add(5 * ms), time.Time{}, at(5*ms, 0, 0), at(life-ms, 1023, 4095)},
			{epoch.AddDate(-9, 0, 0), epoch.Add(ms), at(0, 0, 0), at(0, 1023, 4095)},
			{time.Time{}, end.AddDate(9, 0, 0), at(0, 0, 0), at(life-ms, 1023, 4095)},
			{epoch.Add(7 * ms), epoch.Add(7 * ms), 1, 0},
			{epoch.Add(7 * ms), epoch.Add(5 * ms), 1, 0},
			{epoch.AddDate(-9, 0, 0), epoch, 1, 0},
			{end, end.AddDate(1, 0, 0), 1, 0},
		} {
			if first, last := l.Between(c.from, c.to); first != c.first || last != c.last {
				t.Errorf("%s: between %v and %v are the ids %d to %d, want %d to %d", l, c.from, c.to, first, last, c.first, c.last)
			}
		}
	}
}
