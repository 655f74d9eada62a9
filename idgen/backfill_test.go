package idgen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

func newBackfill(t testing.TB, cfg idgen.BackfillConfig) *idgen.Backfill {
	t.Helper()
	return errtest.Must(idgen.NewBackfill(cfg))(t)
}

func mustAt(t testing.TB, b *idgen.Backfill, table string, times ...time.Time) []int64 {
	t.Helper()
	return errtest.Must(b.At(table, times))(t)
}

// history returns sorted times of n rows, some of which are equal, or in the same tick.
func history(l idgen.Layout, n int) []time.Time {
	r := rand.New(rand.NewPCG(1, 2))
	at := l.Epoch().Add(3 * l.Unit())
	times := make([]time.Time, n)
	for i := range times {
		switch r.IntN(4) {
		case 0:
			at = at.Add(l.Unit() * time.Duration(1+r.IntN(5)))
		case 1:
			at = at.Add(max(l.Unit()/10, 1))
		}
		times[i] = at
	}
	return times
}

// In every layout, ids are unique, ascend with the times of their rows, have these times
// unless a tick is full, and don't depend on how the rows are divided into calls.
func TestBackfillInAnyLayout(t *testing.T) {
	for _, fields := range [][]idgen.Field{
		{idgen.Time(41), idgen.Worker(10), idgen.Sequence(12)},
		{idgen.Time(41), idgen.Sequence(12), idgen.Worker(10)},
		{idgen.Fixed("era", 1, 1), idgen.Time(40), idgen.Worker(4), idgen.Rollback(2), idgen.Sequence(1)},
		{idgen.Time(50), idgen.Fixed("shard", 3, 5), idgen.Worker(2), idgen.Sequence(2)},
		{idgen.Time(39), idgen.Sequence(8), idgen.Worker(16)},
		{idgen.Time(40), idgen.Sequence(20)},
	} {
		for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Minute} {
			l := errtest.Must(idgen.NewLayout(epoch, unit, fields...))(t)
			t.Run(l.String(), func(t *testing.T) {
				worker := int64(0)
				if slices.ContainsFunc(fields, func(f idgen.Field) bool { return f.Name == "worker" }) {
					worker = 3
				}
				times := history(l, 5000)
				cfg := idgen.BackfillConfig{Layout: l, Worker: worker}
				b, divided := newBackfill(t, cfg), newBackfill(t, cfg)
				ids := mustAt(t, b, "rows", times...)

				var again []int64
				for rest := times; len(rest) > 0; {
					n := min(1+rand.IntN(700), len(rest))
					again = append(again, mustAt(t, divided, "rows", rest[:n]...)...)
					rest = rest[n:]
				}
				if !slices.Equal(ids, again) {
					t.Error("the ids depend on the division into calls")
				}
				moved, furthest := int64(0), time.Duration(0)
				for i, id := range ids {
					p := l.Decode(id)
					by := p.Time.Sub(epoch.Add(times[i].Sub(epoch).Truncate(unit)))
					if by < 0 || p.Worker != worker || p.Rollback != 0 || i > 0 && id <= ids[i-1] {
						t.Fatalf("row %d of %v has the id %d: %+v", i, times[i], id, p)
					}
					if composed, err := l.Compose(idgen.Parts{Time: p.Time, Worker: worker, Sequence: p.Sequence}); err != nil || composed != id {
						t.Fatalf("the parts of %d are those of %d, %v", id, composed, err)
					}
					if by > 0 {
						moved, furthest = moved+1, max(furthest, by)
					}
				}
				if n, by := b.Moved(); n != moved || by != furthest {
					t.Errorf("Moved returns %d rows by %v; %d moved by %v", n, by, moved, furthest)
				}
			})
		}
	}
}

// If many rows have one time, they continue in the next ticks, and the count says so.
func TestBackfillOfAFullTick(t *testing.T) {
	l := idgen.DefaultLayout()
	at := l.Epoch().Add(time.Hour)
	b := newBackfill(t, idgen.BackfillConfig{Worker: 7})
	ids := mustAt(t, b, "rows", slices.Repeat([]time.Time{at}, 10_000)...)
	here := 0
	for here < len(ids) && l.Decode(ids[here]).Time.Equal(at) {
		here++
	}
	moved, furthest := b.Moved()
	if here < 3<<10 || here > 4<<10 || moved != int64(10_000-here) || furthest != 2*time.Millisecond || !slices.IsSorted(ids) {
		t.Errorf("%d rows have their time, %d moved by up to %v", here, moved, furthest)
	}
	// The next row follows them, although its own tick has ids of this table already.
	if next := mustAt(t, b, "rows", at.Add(time.Millisecond))[0]; next != ids[len(ids)-1]+1 {
		t.Errorf("got %d after %d", next, ids[len(ids)-1])
	}
	if other := mustAt(t, b, "others", at)[0]; other != ids[0] {
		t.Errorf("another table begins with %d, not with %d", other, ids[0])
	}
}

// Rows of one call may be in any order; those with equal times keep theirs.
func TestBackfillSortsACall(t *testing.T) {
	at := idgen.DefaultLayout().Epoch().Add(time.Hour)
	b := newBackfill(t, idgen.BackfillConfig{Worker: 7})
	ids := mustAt(t, b, "rows", at.Add(2*time.Microsecond), at.Add(time.Second), at, at.Add(2*time.Microsecond), at)
	for i, pair := range [][2]int{{2, 4}, {4, 0}, {0, 3}} {
		if ids[pair[1]] != ids[pair[0]]+1 {
			t.Errorf("%d: %v", i, ids)
		}
	}
	if ids[1] < ids[3] {
		t.Errorf("%v", ids)
	}
}

// A row that can't have an id is named, and the call changes nothing.
func TestBackfillErrors(t *testing.T) {
	l := idgen.DefaultLayout()
	end := l.Epoch().Add(48 * time.Hour)
	at := l.Epoch().Add(time.Hour)
	for _, c := range []struct {
		name string
		bad  time.Time
		want string
	}{
		{"before the epoch", l.Epoch().Add(-time.Millisecond), "row 2: 2024-12-31T23:59:59.999Z is outside the layout's lifetime"},
		{"no time", time.Time{}, "row 2: 0001-01-01T00:00:00Z is outside"},
		{"after the layout", l.Lifetime().End, "row 2: 2094-09-07T15:47:35.552Z is outside"},
		{"at the end", end, "row 2: the id of its time 2025-01-03T00:00:00Z would not be before 2025-01-03T00:00:00Z"},
		{"earlier than before", at.Add(-time.Millisecond), `row 2: its time 2025-01-01T00:59:59.999Z is before that of an earlier call for "rows", 2025-01-01T01:00:00Z`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBackfill(t, idgen.BackfillConfig{Worker: 7, End: end})
			first := mustAt(t, b, "rows", at)[0]
			ids, err := b.At("rows", []time.Time{at, at, c.bad})
			if err == nil || !strings.Contains(err.Error(), c.want) || ids != nil {
				t.Errorf("got %v, %v\nwant %s", ids, err, c.want)
			}
			if next := mustAt(t, b, "rows", at)[0]; next != first+1 {
				t.Errorf("after the error, %d follows %d", next, first)
			}
			if _, err := b.At("rows", []time.Time{end.Add(-time.Millisecond)}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, cfg := range []idgen.BackfillConfig{{Worker: 1024}, {Worker: -1}, {End: l.Epoch().Add(-1)}} {
		if _, err := idgen.NewBackfill(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	b := newBackfill(t, idgen.BackfillConfig{})
	if got := b.Config(); got.Field != "CreatedAt" || got.Layout.String() != l.String() || !got.End.Equal(l.Lifetime().End) {
		t.Errorf("%+v", got)
	}
	if _, err := b.Next(t.Context()); err == nil {
		t.Error("Next needs no time")
	}
	if ids, err := b.Append(t.Context(), []int64{1}, 2); err == nil || len(ids) != 1 {
		t.Errorf("Append needs no time: %v", ids)
	}
}

// A pool with the worker number that starts at End has no id of the backfill, not even if
// rows were moved.
func TestBackfillEndsWhereAPoolStarts(t *testing.T) {
	l := errtest.Must(idgen.NewLayout(epoch, time.Millisecond, idgen.Time(40), idgen.Worker(4), idgen.Sequence(2)))(t)
	end := l.Epoch().Add(time.Hour)
	b := newBackfill(t, idgen.BackfillConfig{Layout: l, Worker: 3, End: end})
	var last int64
	for {
		ids, err := b.At("rows", []time.Time{end.Add(-2 * time.Millisecond)})
		if err != nil {
			break
		}
		last = ids[0]
	}
	clock := holdClock(end)
	pool := newPool(t, idgen.Config{Layout: l, NoSpread: true, Clock: clock.Now, Worker: func(int) (int64, error) { return 3, nil }})
	if first := mustNext(t, pool); !l.Decode(first).Time.Equal(end) || !l.Decode(last).Time.Equal(end.Add(-time.Millisecond)) || l.Decode(last).Sequence != 3 {
		t.Errorf("the backfill ends with %+v, and the pool begins with %+v", l.Decode(last), l.Decode(first))
	}
}

// id % N should differ between rows that are far apart.
func TestBackfillSpreads(t *testing.T) {
	b := newBackfill(t, idgen.BackfillConfig{Worker: 7})
	at := idgen.DefaultLayout().Epoch()
	shards := map[int64]int{}
	for range 4096 {
		at = at.Add(time.Second)
		shards[mustAt(t, b, "rows", at)[0]%64]++
	}
	if len(shards) != 64 {
		t.Errorf("the rows are in %d of 64 shards", len(shards))
	}
}

func ExampleBackfill() {
	b, err := idgen.NewBackfill(idgen.BackfillConfig{Worker: 1000}) // no process has this number
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	ids, err := b.At("orders", []time.Time{day, day, day.AddDate(0, 0, 1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range ids {
		fmt.Println(id, idgen.DefaultLayout().Decode(id).Time.Format(time.DateOnly))
	}

	_, err = b.At("orders", []time.Time{day.AddDate(0, 0, 2), {}})
	fmt.Println(err)
	// Output:
	// 21380884074496759 2025-03-01
	// 21380884074496760 2025-03-01
	// 21743271940096603 2025-03-02
	// idgen: row 1: 0001-01-01T00:00:00Z is outside the layout's lifetime (2025-01-01T00:00:00Z to 2094-09-07T15:47:35Z); use a layout with another epoch or more time bits
}
