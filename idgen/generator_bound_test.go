package idgen

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// BenchmarkBound measures what a lease adds to the cost of Next, which has to read the
// bound that the store has confirmed. It alternates between Next with and without the
// bound, a thousand calls each.
func BenchmarkBound(b *testing.B) {
	layout, err := NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, Time(39), Worker(2), Sequence(22))
	if err != nil {
		b.Fatal(err)
	}
	pool, err := newLeased(Config{Layout: layout}, func(i leased.Issuer) (leased.Keeper, error) {
		i.Grant(1, 0, 1<<62)
		return granted{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close(b.Context())
	const calls = 1000
	ctx := b.Context()
	var with, without []float64
	for b.Loop() {
		with = append(with, each(calls, func() error { _, err := pool.main.Next(ctx); return err }))
		without = append(without, each(calls, func() error { _, err := pool.main.nextUnbound(ctx); return err }))
	}
	slices.Sort(with)
	slices.Sort(without)
	a, c := with[len(with)/2], without[len(without)/2]
	b.ReportMetric(a, "ns-with-bound")
	b.ReportMetric(c, "ns-without")
	b.ReportMetric(a-c, "ns-bound")
	b.ReportMetric(0, "ns/op") // hide the sum of both, since it doesn't mean anything
}

// each returns how many nanoseconds a call takes on average over n calls.
func each(n int, call func() error) float64 {
	began := time.Now()
	for range n {
		if err := call(); err != nil {
			panic(err)
		}
	}
	return float64(time.Since(began).Nanoseconds()) / float64(n)
}

type granted struct{}

func (granted) Want(int64)                    {}
func (granted) RenewSoon()                    {}
func (granted) Suspend(context.Context) error { return nil }
func (granted) Resume(context.Context) error  { return nil }
func (granted) Close(context.Context) error   { return nil }
func (granted) Stats() leased.Stats           { return leased.Stats{} }

// nextUnbound is Next without the bound.
func (g *Generator) nextUnbound(ctx context.Context) (int64, error) {
	s := g.seq.Load()
	now := g.clock.now()
	number := s.last.Load() + 1
	lead := g.start(number) - now
	if number > 0 && -g.unit < lead && lead <= s.maxAhead && s.last.CompareAndSwap(number-1, number) {
		return g.id(s.shared, number), nil
	}
	s, first, err := g.reserve(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.id(s.shared, first), nil
}
