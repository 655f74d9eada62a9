package idgentest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Counter is a source that counts from 1, separately for each model, like a database
// with auto-increment. It's meant for the tests of an existing service which compare keys
// with 1, 2 and 3:
//
//	db.Use(gormid.New(gormid.Config{Source: new(idgentest.Counter), FillIntegers: true}))
//
// With gormid, a model continues above any keys the test has set itself. With other
// integrations, a test that inserts rows with keys of its own should set all of them.
//
// In new tests, prefer a [Pool]: its ids reveal any code that rounds them. With package
// entid, all models share one Counter unless the mixin names a generator.
//
// The zero Counter is ready to use. It is safe for concurrent use.
type Counter struct {
	last atomic.Int64
	of   sync.Map // string → *Counter
}

// Of returns the counter of a model, or of the generator a model names. The integrations
// call it.
func (c *Counter) Of(name string) idgen.Source {
	of, _ := c.of.LoadOrStore(name, new(Counter))
	return of.(*Counter)
}

// Seen makes the counter returned by [Counter.Of] for a name continue above id. It's
// called by gormid for each row that already has a key.
func (c *Counter) Seen(name string, id int64) {
	of := c.Of(name).(*Counter)
	for last := of.last.Load(); last < id && !of.last.CompareAndSwap(last, id); last = of.last.Load() {
	}
}

// Next implements [idgen.Source].
func (c *Counter) Next(context.Context) (int64, error) { return c.last.Add(1), nil }

// Append implements [idgen.Source].
func (c *Counter) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	last := c.last.Add(int64(n))
	for id := last - int64(n) + 1; id <= last; id++ {
		dst = append(dst, id)
	}
	return dst, nil
}
