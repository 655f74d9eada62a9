// Package draw makes ids one by one, each in the same way in all programs that measure.
package draw

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"

	"github.com/snowkey-go/snowkey/idgen"
)

// Next makes ids with g. It is safe for concurrent use.
func Next(g *idgen.Generator) func(n int) error {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := g.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// Bwmarrin makes ids with bwmarrin/snowflake. It is safe for concurrent use.
func Bwmarrin() (func(n int) error, error) {
	node, err := bwmarrin.NewNode(1)
	if err != nil {
		return nil, fmt.Errorf("bwmarrin/snowflake: %w", err)
	}
	return func(n int) error {
		for range n {
			node.Generate()
		}
		return nil
	}, nil
}

// ClockAndAdd has the lowest possible cost of a time-ordered unique id, which is reading
// the clock plus an atomic add. It is safe for concurrent use. Its callers all update
// the same word, just as the callers of a generator do.
func ClockAndAdd() func(n int) error {
	start := time.Now()
	word := new(struct {
		_ [64]byte // padding, to put the word on its own cache line as in a generator
		atomic.Int64
		_ [64]byte
	})
	return func(n int) error {
		var elapsed time.Duration
		for range n {
			elapsed = time.Since(start)
			word.Add(1)
		}
		runtime.KeepAlive(elapsed)
		return nil
	}
}

// Paced makes rate ids every millisecond for d, and returns the time per id in
// nanoseconds.
func Paced(draw func(n int) error, rate int, d time.Duration) (float64, error) {
	var busy time.Duration
	ids := 0
	for start, tick := time.Now(), time.Duration(0); ids == 0 || time.Since(start) < d; tick += time.Millisecond {
		time.Sleep(time.Until(start.Add(tick)))
		began := time.Now()
		if err := draw(rate); err != nil {
			return 0, err
		}
		busy += time.Since(began)
		ids += rate
	}
	return float64(busy) / float64(ids), nil
}

// Place puts random numbers of objects of each size on the heap, with pointers and without,
// which the heap keeps apart. This separates the generators from the objects that a pause
// uses. Otherwise, bwmarrin's node is right before the timer of the goroutine, because they
// have the same size. Each time.Sleep then fetches a cache line of the node too.
func Place(seed int) (objects []any) {
	time.Sleep(time.Nanosecond) // so that the goroutine has its timer
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	for words := 1; words <= 32; words++ { // a Generator has 32
		for range random.IntN(500) {
			objects = append(objects, make([]*byte, words))
		}
		for range random.IntN(500) {
			objects = append(objects, make([]uintptr, words))
		}
	}
	return objects
}
