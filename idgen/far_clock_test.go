package idgen_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// If a clock is centuries before the epoch, for instance because it returns the zero
// Time, calls should fail. Once it is right again, ids continue without a duplicate.
func TestClockFarBeforeTheEpoch(t *testing.T) {
	layouts := presets(t)
	layouts["two ticks of 146 years"] = must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 146*365*24*time.Hour,
		idgen.Time(1), idgen.Worker(10), idgen.Sequence(12)))(t)
	layouts["one tick of 292 years"] = must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), idgen.NoLimit,
		idgen.Time(1), idgen.Worker(10), idgen.Sequence(12)))(t)
	day := 0
	for name, layout := range layouts {
		day++ // no other test has this layout, so we don't start above an earlier pool
		t.Run(name, func(t *testing.T) {
			layout = must(layout.WithEpoch(layout.Epoch().AddDate(0, 0, 40+day)))(t)
			right := layout.Epoch().Add(layout.Unit() / 2)
			now := right
			cfg := idgen.Config{Layout: layout, MaxAhead: time.Minute, MaxWait: -1, MaxBehind: time.Minute, Clock: func() time.Time { return now }, Worker: func(int) (int64, error) { return 0, nil }}
			pool := newPool(t, cfg)
			refused := func(p *idgen.Pool) {
				t.Helper()
				for _, wrong := range []time.Time{{}, layout.Epoch().AddDate(-293, 0, 0), layout.Epoch().AddDate(-291, 0, 0), layout.Epoch().AddDate(-30, 0, 0)} {
					now = wrong
					id, err := p.Next(t.Context())
					if _, ok := errors.AsType[*idgen.ClockError](err); !ok {
						t.Errorf("at %v: %d, %v; want a ClockError", wrong, id, err)
					}
					if id, err := p.Unordered().Next(t.Context()); err == nil {
						t.Errorf("at %v Unordered returns %d", wrong, id)
					}
					if h := p.Health(); h.State != idgen.Down || h.Behind <= 0 {
						t.Errorf("at %v: %+v", wrong, h)
					}
				}
			}
			refused(pool)

			now = right
			first := mustNext(t, pool)
			second := mustNext(t, pool)
			if second <= first {
				t.Errorf("%d after %d", second, first)
			}
			if got := layout.Decode(second).Time; got.After(right.Add(layout.Unit())) {
				t.Errorf("an id of %v is dated %v", right, got)
			}
			refused(pool)

			// The next pool of this process should continue above the first one.
			if err := pool.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := idgen.NewPool(cfg); err == nil {
				t.Error("a pool begins with such a clock")
			}
			now = right
			pool = newPool(t, cfg)
			refused(pool)
			now = right
			if id := mustNext(t, pool); id <= second {
				t.Errorf("%d after %d of the pool before", id, second)
			}
		})
	}
}

// Checks that layout and generator agree on the end, as far as a time.Duration reaches.
func TestEndOfALongLayout(t *testing.T) {
	for name, layout := range map[string]idgen.Layout{
		"Mastodon": idgen.Mastodon(),
		"292 years": must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), idgen.NoLimit,
			idgen.Time(1), idgen.Worker(10), idgen.Sequence(12)))(t),
	} {
		t.Run(name, func(t *testing.T) {
			layout := must(layout.WithEpoch(layout.Epoch().AddDate(0, 0, 90)))(t) // no other test has this layout, so we don't start above an earlier pool
			end := layout.Lifetime().End
			now := end.Add(-1)
			pool := newPool(t, idgen.Config{Layout: layout, Clock: func() time.Time { return now }, Worker: func(int) (int64, error) { return 0, nil }})
			id := mustNext(t, pool)
			if got := layout.Decode(id).Time; got.Before(end.Add(-layout.Unit())) || !got.Before(end) {
				t.Errorf("the last tick before %v is %v", end, got)
			}
			if max := must(layout.MaxID(end.Add(-1)))(t); id > max {
				t.Errorf("%d is above MaxID %d", id, max)
			}
			if _, err := layout.MinID(end); err == nil {
				t.Errorf("there is an id of %v, the end", end)
			}
			now = end
			if id, err := pool.Next(t.Context()); !errors.Is(err, idgen.ErrLayoutExhausted) {
				t.Errorf("after the end: %d, %v", id, err)
			}
		})
	}
}
