package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// BenchmarkNext makes one id after another. Layouts limit the rate of snowkey-default,
// bwmarrin and go-snowflake (4,096 a millisecond: 244 ns) and of sonyflake (39 µs).
func BenchmarkNext(b *testing.B) {
	for _, s := range sources(b) {
		b.Run("by="+s.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					s.next()
				}
			})
		})
	}
}

// BenchmarkPause makes some ids in each millisecond and sleeps in between, as most
// programs do. The system then uses the caches for other things, so the ratio also depends
// on where code and data are in memory: make bench builds each run with another order of
// functions, and place moves the data.
func BenchmarkPause(b *testing.B) {
	for _, rate := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			objects := place()
			sides := []source{{"snowkey", next(full.Named(b.Name()))}, bwmarrin(b)}
			busy := make([]time.Duration, len(sides))
			for tick := 0; b.Loop(); tick++ {
				for i := range sides {
					side := (i + tick) % len(sides)
					time.Sleep(time.Millisecond)
					start := time.Now()
					for range rate {
						sides[side].next()
					}
					busy[side] += time.Since(start)
				}
			}
			runtime.KeepAlive(objects)
			for side := range sides {
				b.ReportMetric(float64(busy[side].Nanoseconds())/float64(b.N*rate), sides[side].name+"-ns/id")
			}
			b.ReportMetric(busy[0].Seconds()/busy[1].Seconds(), "of-bwmarrin")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// place puts random numbers of objects of each size on the heap, with pointers and
// without, which the heap keeps apart. Otherwise bwmarrin's node is right before the timer
// of the goroutine, because they have the same size, and each pause fetches it into the
// cache.
func place() (objects []any) {
	time.Sleep(time.Nanosecond) // so that the goroutine has its timer
	for words := 1; words <= 32; words++ {
		for range rand.IntN(500) {
			objects = append(objects, make([]*byte, words))
		}
		for range rand.IntN(500) {
			objects = append(objects, make([]uintptr, words))
		}
	}
	return objects
}

// BenchmarkCeiling makes ids as fast as the layout allows: the share of its room that is
// used, and the cores that this takes. With 256 ids a millisecond, nearly all of it is
// waiting.
func BenchmarkCeiling(b *testing.B) {
	for _, goroutines := range []int{1, 2, 64} {
		for _, s := range []struct {
			source
			limit int // ids a millisecond
		}{
			{source{"snowkey-default", next(full.Named(b.Name()))}, 4096},
			{source{"snowkey-256", next(narrow.Named(b.Name()))}, 256},
			{bwmarrin(b), 4096},
		} {
			b.Run(fmt.Sprintf("goroutines=%d/by=%s", goroutines, s.name), func(b *testing.B) {
				for range 25 * s.limit { // the ids that a generator may be ahead of the clock after a rest
					s.next()
				}
				b.ResetTimer()
				began := cpuTime()
				var wg sync.WaitGroup
				for i := range goroutines {
					wg.Go(func() {
						for range (b.N + i) / goroutines {
							s.next()
						}
					})
				}
				wg.Wait()
				elapsed := b.Elapsed()
				b.ReportMetric(100*float64(b.N)/(elapsed.Seconds()*1e3*float64(s.limit)), "%-of-room")
				b.ReportMetric((cpuTime()-began).Seconds()/elapsed.Seconds(), "cores")
			})
		}
	}
}

// BenchmarkThousand makes ids a thousand at a time, where a source can; the time is that
// of one id.
func BenchmarkThousand(b *testing.B) {
	const size = 1000
	ctx := context.Background()
	g := room.Named(b.Name())
	buffer := make([]int64, 0, size)
	counter := int64(0)
	oneByOne := func(next func()) func() error {
		return func() error {
			for range size {
				next()
			}
			return nil
		}
	}
	for _, s := range []struct {
		name string
		work func() error
	}{
		{"counting", func() error {
			buffer = buffer[:0]
			for range size {
				counter++
				buffer = append(buffer, counter)
			}
			return nil
		}},
		{"snowkey-Append", func() (err error) { buffer, err = g.Append(ctx, buffer[:0], size); return err }},
		{"snowkey-NextN", func() (err error) { _, err = g.NextN(ctx, size); return err }},
		{"xid", oneByOne(func() { xid.New() })},
		{"ulid", oneByOne(func() { ulid.Make() })},
		{"google-uuid7", oneByOne(func() { _, _ = uuid.NewV7() })},
	} {
		b.Run("by="+s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dbtest.NoError(b, s.work())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/id")
			b.ReportMetric(0, "ns/op")
		})
	}
}
