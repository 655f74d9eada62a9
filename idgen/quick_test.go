package idgen

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkNext(b *testing.B) {
	p, err := NewPool(Config{Worker: func(int) (int64, error) { return 0, nil }, Layout: room(), MaxAhead: NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close(context.Background())
	ctx := context.Background()
	b.Run("next", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("nextpar", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				p.Next(ctx)
			}
		})
	})
	t := time.Now()
	var a atomic.Int64
	b.Run("base", func(b *testing.B) {
		for b.Loop() {
			_ = time.Since(t)
			a.Add(1)
		}
	})
	b.Run("basepar", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = time.Since(t)
				a.Add(1)
			}
		})
	})
	b.Run("next1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.NextN(ctx, 1000); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/id")
	})
}
func room() Layout {
	l, _ := NewLayout(date(2025, 1, 1), time.Millisecond, Time(41), Sequence(22))
	return l
}
