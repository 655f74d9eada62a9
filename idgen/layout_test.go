package idgen_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func TestNewLayoutRefuses(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name   string
		epoch  time.Time
		unit   time.Duration
		fields []idgen.Field
		field  string // that the error blames
		remedy string // that it names
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
		{"sign bit set", epoch, ms, []idgen.Field{idgen.Fixed("top", 1, 1), idgen.Time(41), idgen.Worker(10), idgen.Sequence(12)}, "top", "zero in its highest bit"},
		{"epoch before 1970", time.Unix(-1, 0), ms, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "epoch", "later"},
		{"epoch after 9999", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), ms, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "epoch", "earlier"},
		{"no unit", epoch, 0, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "unit", "time.Millisecond"},
		{"negative unit", epoch, -ms, []idgen.Field{idgen.Time(41), idgen.Sequence(12)}, "unit", "not positive"},
		{"outlasts the calendar", epoch, 24 * time.Hour, []idgen.Field{idgen.Time(62), idgen.Sequence(1)}, "time", "fewer bits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := idgen.NewLayout(tt.epoch, tt.unit, tt.fields...)
			e, ok := errors.AsType[*idgen.LayoutError](err)
			if !ok || e.Field != tt.field || !strings.Contains(err.Error(), tt.remedy) {
				t.Errorf("error %v; want a LayoutError of %q that says %q", err, tt.field, tt.remedy)
			}
			if !l.IsZero() {
				t.Errorf("returned the layout %v beside an error", l)
			}
		})
	}
}

func TestFixedValueOutOfRange(t *testing.T) {
	for _, v := range []int64{-1, 8} {
		_, err := idgen.NewLayout(epoch, time.Millisecond, idgen.Time(41), idgen.Fixed("datacenter", 3, v), idgen.Sequence(12))
		e, ok := errors.AsType[*idgen.RangeError](err)
		if !ok || *e != (idgen.RangeError{Field: "datacenter", Value: v, Max: 7}) {
			t.Errorf("datacenter %d: %v", v, err)
		}
		if _, err := idgen.DatacenterProcess().WithFixed("datacenter", v); !errors.As(err, &e) {
			t.Errorf("WithFixed %d: %v", v, err)
		}
	}
	if _, err := idgen.Twitter().WithFixed("rack", 1); err == nil {
		t.Error("WithFixed took a field that the layout does not have")
	}
	if _, err := idgen.Twitter().WithFixed("worker", 1); err == nil {
		t.Error("WithFixed took the worker field")
	}
}

// randomLayout returns a layout of random fields, unit and epoch, or the error
// of those that cannot be.
func randomLayout(r *rand.Rand) (idgen.Layout, error) {
	units := []time.Duration{time.Nanosecond, 7 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute, time.Hour}
	return idgen.NewLayout(time.Unix(r.Int64N(4e9), r.Int64N(1e9)), units[r.IntN(len(units))], randomFields(r, 8+r.IntN(57))...)
}

// randomFields returns fields of any legal order that take total bits: fixed
// ones, all 0, anywhere, the others below time.
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

func FuzzComposeDecode(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed, int64(seed)<<54|1)
		f.Add(seed, int64(math.MaxInt64))
		f.Add(seed, int64(-1))
	}
	f.Fuzz(func(t *testing.T, seed uint64, id int64) {
		l, err := randomLayout(rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			if _, ok := errors.AsType[*idgen.LayoutError](err); !ok {
				t.Fatal(err)
			}
			t.Skip()
		}
		if bits := width(l); bits < 64 {
			id &= 1<<bits - 1
		}
		parts := l.Decode(id)
		got, err := l.Compose(parts)
		if err != nil || got != id {
			t.Fatalf("%v\nid %d decodes to %+v and composes to %d, %v", l, id, parts, got, err)
		}
		if again := l.Decode(got); !reflect.DeepEqual(again, parts) {
			t.Fatalf("%v\n%+v came back as %+v", l, parts, again)
		}
	})
}

func width(l idgen.Layout) (bits int) {
	for _, f := range l.Fields() {
		bits += f.Bits
	}
	return bits
}

// Fields that differ never make equal ids: each bit of each field has one place.
func TestFieldsShareNoBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		l, err := randomLayout(r)
		if err != nil {
			continue
		}
		seen := uint64(0)
		zero := idgen.Parts{Time: l.Epoch()}
		add := func(name string, p idgen.Parts) {
			id, err := l.Compose(p)
			if err != nil {
				t.Fatalf("%v: %s: %v", l, name, err)
			}
			if uint64(id)&seen != 0 {
				t.Fatalf("%v: %s shares bits with another field", l, name)
			}
			seen |= uint64(id)
		}
		for _, f := range l.Fields() {
			p := zero
			top := int64(1)<<(f.Bits-1) | 1
			switch f.Name {
			case "time":
				p.Time = l.Decode(-1).Time
			case "worker":
				p.Worker = top
			case "rollback":
				p.Rollback = top
			case "sequence":
				p.Sequence = top
			default:
				continue
			}
			add(f.Name, p)
		}
	}
}

func TestComposeRefuses(t *testing.T) {
	l := idgen.DatacenterProcess()
	at := epoch
	for _, tt := range []struct {
		name string
		p    idgen.Parts
		want error
	}{
		{"worker", idgen.Parts{Time: at, Worker: 32}, &idgen.RangeError{Field: "worker", Value: 32, Max: 31}},
		{"negative", idgen.Parts{Time: at, Worker: -1}, &idgen.RangeError{Field: "worker", Value: -1, Max: 31}},
		{"sequence", idgen.Parts{Time: at, Sequence: 4096}, &idgen.RangeError{Field: "sequence", Value: 4096, Max: 4095}},
		{"rollback", idgen.Parts{Time: at, Rollback: 4}, &idgen.RangeError{Field: "rollback", Value: 4, Max: 3}},
		{"fixed", idgen.Parts{Time: at, Fixed: []int64{8}}, &idgen.RangeError{Field: "datacenter", Value: 8, Max: 7}},
		{"time", idgen.Parts{Time: l.Epoch().Add(-1)}, &idgen.TimeError{Time: l.Epoch().Add(-1), Start: l.Lifetime().Start, End: l.Lifetime().End}},
		{"end", idgen.Parts{Time: l.Lifetime().End}, &idgen.TimeError{Time: l.Lifetime().End, Start: l.Lifetime().Start, End: l.Lifetime().End}},
	} {
		if _, err := l.Compose(tt.p); !reflect.DeepEqual(err, tt.want) {
			t.Errorf("%s: error %v; want %v", tt.name, err, tt.want)
		}
	}
	if _, err := l.Compose(idgen.Parts{Time: at, Fixed: []int64{1, 2}}); err == nil {
		t.Error("two values for one fixed field were taken")
	}
	if _, err := idgen.Mastodon().Compose(idgen.Parts{Time: at, Worker: 1}); err == nil {
		t.Error("a worker was taken by a layout without workers")
	}
	id := must(l.Compose(idgen.Parts{Time: at, Fixed: []int64{7}}))(t)
	if got := l.Decode(id).Fixed; len(got) != 1 || got[0] != 7 {
		t.Errorf("datacenter 7 came back as %v", got)
	}
}

func TestMinMaxID(t *testing.T) {
	for name, l := range presets(t) {
		at := l.Epoch().Add(500 * 24 * time.Hour).Add(l.Unit() / 3)
		low, high := must(l.MinID(at))(t), must(l.MaxID(at))(t)
		first, last := l.Decode(low), l.Decode(high)
		if !first.Time.Equal(last.Time) || at.Before(first.Time) || !at.Before(first.Time.Add(l.Unit())) {
			t.Errorf("%s: [%d, %d] is tick %v to %v, without %v", name, low, high, first.Time, last.Time, at)
		}
		if before := l.Decode(low - 1).Time; !before.Equal(first.Time.Add(-l.Unit())) {
			t.Errorf("%s: MinID-1 is of %v", name, before)
		}
		if after := l.Decode(high + 1).Time; !after.Equal(first.Time.Add(l.Unit())) {
			t.Errorf("%s: MaxID+1 is of %v", name, after)
		}
		for _, out := range []time.Time{l.Epoch().Add(-1), l.Lifetime().End} {
			_, err1 := l.MinID(out)
			_, err2 := l.MaxID(out)
			for _, err := range []error{err1, err2} {
				if _, ok := errors.AsType[*idgen.TimeError](err); !ok {
					t.Errorf("%s: %v gave %v; want a TimeError", name, out, err)
				}
			}
		}
	}
}

// An id of another datacenter lies in the range of its time as well.
func TestMinMaxIDCoverFixedFieldsBelowTime(t *testing.T) {
	here, there := must(idgen.Twitter().WithFixed("datacenter", 3))(t), must(idgen.Twitter().WithFixed("datacenter", 31))(t)
	at := epoch
	for _, l := range []idgen.Layout{here, there} {
		id := must(l.Compose(idgen.Parts{Time: at, Worker: 31, Sequence: 4095}))(t)
		if low, high := must(here.MinID(at))(t), must(here.MaxID(at))(t); id < low || id > high {
			t.Errorf("%d is not in [%d, %d]", id, low, high)
		}
	}
}

func TestLifetime(t *testing.T) {
	for _, tt := range []struct {
		name           string
		layout         idgen.Layout
		end, safeYears string
	}{
		{"default", idgen.DefaultLayout(), "2094-09-07T15:47:35.552Z", "2025-01-25"},
		{"js", idgen.JSSafe(), "2068-07-21T06:52:14.72Z", "2068-07-21"},
		{"discord", idgen.Discord(), "2084-09-06T15:47:35.552Z", "2015-01-25"},
		{"instagram", idgen.Instagram(), "2046-06-27T17:00:49.497Z", "2011-09-06"},
		{"baidu", idgen.Baidu(), "2024-11-20T13:24:16Z", "2016-05-22"},
	} {
		life := tt.layout.Lifetime()
		if got := life.End.Format(time.RFC3339Nano); got != tt.end {
			t.Errorf("%s ends %s; want %s", tt.name, got, tt.end)
		}
		if got := life.SafeEnd.Format(time.DateOnly); got != tt.safeYears {
			t.Errorf("%s is safe until %s; want %s", tt.name, got, tt.safeYears)
		}
		if !life.Start.Equal(tt.layout.Epoch()) {
			t.Errorf("%s starts %v", tt.name, life.Start)
		}
		last, err := tt.layout.MaxID(life.End.Add(-1))
		if err != nil || last < 0 {
			t.Errorf("%s: the last instant has the id %d, %v", tt.name, last, err)
		}
		if tt.name == "js" {
			continue // safe to its very end
		}
		if id := must(tt.layout.MaxID(life.SafeEnd.Add(-1)))(t); id > 1<<53-1 {
			t.Errorf("%s: id %d before SafeEnd is not safe", tt.name, id)
		}
		if id := must(tt.layout.MaxID(life.SafeEnd))(t); id <= 1<<53-1 {
			t.Errorf("%s: id %d at SafeEnd still is safe", tt.name, id)
		}
	}
}

func TestRaindrop(t *testing.T) {
	l := must(idgen.Raindrop(idgen.RaindropConfig{Epoch: epoch, Unit: time.Millisecond, TimeBits: 50, WorkerBits: 4, EndBits: 2, End: 3}))(t)
	if got, want := width(l), 63; got != want {
		t.Errorf("%d bits; want %d", got, want)
	}
	id := must(l.Compose(idgen.Parts{Time: epoch.Add(time.Second), Worker: 15, Rollback: 1, Sequence: 63}))(t)
	if id != 1000<<13|15<<9|1<<8|63<<2|3 {
		t.Errorf("id %b", id)
	}
	// The widened time field: ids stay below 2^53 for 34 years.
	if got := l.Lifetime().SafeEnd.Year(); got != 2059 {
		t.Errorf("safe until %d", got)
	}
	for unit, width := range map[time.Duration][2]int{
		time.Millisecond: {41, 55}, time.Second: {31, 55}, time.Minute: {25, 50}, time.Hour: {19, 45}, 24 * time.Hour: {15, 40},
	} {
		for bits := range 64 {
			_, err := idgen.Raindrop(idgen.RaindropConfig{Epoch: epoch, Unit: unit, TimeBits: bits, WorkerBits: 3})
			if ok := bits >= width[0] && bits <= width[1]; ok != (err == nil) {
				t.Errorf("%v with %d time bits: %v", unit, bits, err)
			}
		}
	}
	for _, c := range []idgen.RaindropConfig{
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 2},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 11},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 10, EndBits: 6},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 10, EndBits: 2, End: 4},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 10, End: 1},
		{Epoch: epoch, Unit: 2 * time.Millisecond, TimeBits: 41, WorkerBits: 10},
	} {
		if l, err := idgen.Raindrop(c); err == nil {
			t.Errorf("%+v gave %v", c, l)
		}
	}
}

func TestDefaultLayout(t *testing.T) {
	l := must(idgen.NewLayout(epoch, time.Millisecond, idgen.Time(41), idgen.Worker(10), idgen.Sequence(12)))(t)
	if l.String() != idgen.DefaultLayout().String() {
		t.Errorf("41/10/12 is %v", l)
	}
}

func TestLayoutString(t *testing.T) {
	const want = "0:1 │ time:41 × 1ms since 2020-01-31T16:00:00Z │ datacenter:3 = 5 │ worker:5 │ rollback:2 │ sequence:12"
	if got := must(idgen.DatacenterProcess().WithFixed("datacenter", 5))(t).String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := idgen.Discord().String(); strings.HasPrefix(got, "0:") {
		t.Errorf("a layout of 64 bits leaves none unused: %s", got)
	}
}

func presets(t testing.TB) map[string]idgen.Layout {
	return map[string]idgen.Layout{
		"Default": idgen.DefaultLayout(), "JSSafe": idgen.JSSafe(), "Twitter": idgen.Twitter(), "Twitter2015": idgen.Twitter2015(),
		"TwitterIn": must(idgen.Twitter().WithFixed("datacenter", 31))(t), "Discord": idgen.Discord(), "Instagram": idgen.Instagram(), "Sonyflake": idgen.Sonyflake(),
		"Mastodon": idgen.Mastodon(), "Baidu": idgen.Baidu(), "TSID": idgen.TSID(), "DatacenterProcess": idgen.DatacenterProcess(),
		"Raindrop": must(idgen.Raindrop(idgen.RaindropConfig{Epoch: epoch, Unit: 24 * time.Hour, TimeBits: 15, WorkerBits: 10, EndBits: 5, End: 31}))(t),
	}
}
