package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

// A process makes one pool, sets it as the default, and closes it when it ends. A
// constant worker number is fine here because the program runs as a single process.
func Example() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)
	idgen.SetDefault(pool)

	a, _ := idgen.Default().Next(ctx)
	b, _ := idgen.Default().Next(ctx)
	fmt.Println(a < b, pool.Layout().Decode(a).Worker)
	// Output: true 7
}

// Append fills a slice that the caller reuses.
func ExamplePool_Append() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(12)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)

	ids := make([]int64, 0, 500)
	for range 3 {
		if ids, err = pool.Append(ctx, ids[:0], 500); err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(ids), ids[0] < ids[499])
	}
	// Output:
	// 500 true
	// 500 true
	// 500 true
}

// Each name has its own generator, but all of them share the worker number of the pool.
func ExamplePool_Named() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(9)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)

	order, err := pool.Named("orders").Next(ctx)
	fmt.Println(order > 0, err)
	// Output: true <nil>
}

// A readiness probe reports whether rows can be created.
func ExamplePool_Health() {
	ctx := context.Background()
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(10), Clock: func() time.Time { return clock }})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)

	_, _ = pool.Next(ctx)
	fmt.Println(pool.Health().State)
	clock = clock.Add(-5 * time.Second) // the clock is set back
	fmt.Println(pool.Health().State, pool.Health().Behind)
	// Output:
	// serving
	// failing 5s
}

// If the clock was set back too far for Next to wait, the error says when to retry.
func ExampleClockError() {
	ctx := context.Background()
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(11), Clock: func() time.Time { return clock }})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)

	_, _ = pool.Next(ctx)
	clock = clock.Add(-5 * time.Second)
	_, err = pool.Next(ctx)
	if late, ok := errors.AsType[*idgen.ClockError](err); ok {
		fmt.Println("retry after", late.RetryAfter.Round(time.Second))
	}
	// Output: retry after 5s
}

// An id has its time of creation, worker number and sequence.
func ExampleLayout_Decode() {
	layout := idgen.DefaultLayout()
	p := layout.Decode(210_453_397_504_004_097)
	fmt.Println(p.Time.Format(time.RFC3339Nano), p.Worker, p.Sequence)
	// Output: 2026-08-04T17:46:40Z 1 1
}

// Compose returns the id with the given parts, for instance for the first row of an
// import.
func ExampleLayout_Compose() {
	layout := idgen.DefaultLayout()
	id, err := layout.Compose(idgen.Parts{Time: time.Date(2026, 8, 4, 17, 46, 40, 0, time.UTC), Worker: 1, Sequence: 1})
	fmt.Println(id, err)
	_, err = layout.Compose(idgen.Parts{Time: time.Date(2026, 8, 4, 17, 46, 40, 0, time.UTC), Worker: 1024})
	fmt.Println(err)
	// Output:
	// 210453397504004097 <nil>
	// idgen: worker 1024 does not fit its field (0 to 1023); use a number in that range or a layout with a wider field
}

// JavaScript reads numbers up to 2^53 exactly. With JSSafe, ids stay below this limit
// until 2068.
func ExampleJSSafe() {
	life := idgen.JSSafe().Lifetime()
	fmt.Println(life.End.Year(), life.SafeEnd.Equal(life.End))
	fmt.Println(idgen.DefaultLayout().Lifetime().SafeEnd.Format(time.DateOnly))
	// Output:
	// 2068 true
	// 2025-01-25
}

// A layout is a list of fields, highest bits first.
func ExampleNewLayout() {
	layout, err := idgen.NewLayout(
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond,
		idgen.Time(39), idgen.Fixed("region", 4, 3), idgen.Worker(10), idgen.Sequence(10))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(layout)
	fmt.Println("until", layout.Lifetime().End.Year())
	// Output:
	// 0:1 │ time:39 × 10ms since 2026-01-01T00:00:00Z │ region:4 = 3 │ worker:10 │ sequence:10
	// until 2200
}

// A table with keys below 2^53 can continue with the default layout. However, a table
// with keys of the default layout cannot continue with more worker bits.
func ExampleLayout_Compatible() {
	now := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(idgen.DefaultLayout().Compatible(idgen.JSSafe(), now))

	wider, err := idgen.NewLayout(idgen.DefaultLayout().Epoch(), time.Millisecond, idgen.Time(41), idgen.Worker(12), idgen.Sequence(10))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(wider.Compatible(idgen.DefaultLayout(), now))
	// Output:
	// <nil>
	// idgen: the layouts overlap: id 220331822284800000 is of worker 0 at 2026-09-01T00:00:00Z, sequence 0 in the new one and of worker 0 at 2026-09-01T00:00:00Z, sequence 0 in the old; use another value in a fixed field, or another namespace for another table
}

// You can store the text of a layout, and read the layout back from it later.
func ExampleParseLayout() {
	text := idgen.JSSafe().String()
	layout, err := idgen.ParseLayout(text)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(layout.Unit(), layout.Lifetime().End.Year())
	// Output: 10ms 2068
}

// A query for a range of time can use the index of the key.
func ExampleLayout_MinID() {
	layout := idgen.DefaultLayout()
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	low, err := layout.MinID(from)
	if err != nil {
		log.Fatal(err)
	}
	high, err := layout.MaxID(from.Add(24*time.Hour - time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("SELECT … WHERE id BETWEEN %d AND %d\n", low, high)
	// Output: SELECT … WHERE id BETWEEN 153652455014400000 AND 154014842879999999
}

// Existing Twitter ids decode with the published layout.
func ExamplePreset() {
	twitter, err := idgen.Preset("twitter")
	if err != nil {
		log.Fatal(err)
	}
	p := twitter.Decode(1541815603606036480)
	fmt.Println(p.Time.Format(time.RFC3339Nano), "datacenter", p.Fixed[0], "worker", p.Worker)
	// Output: 2022-06-28T16:07:40.105Z datacenter 11 worker 26
}

// The rows of November, by their keys. In the ORMs:
//
//	db.Where("id BETWEEN ? AND ?", first, last).Find(&orders)                           // GORM
//	client.Order.Query().Where(order.IDGTE(pk.ID(first)), order.IDLTE(pk.ID(last)))     // ent
//	db.NewSelect().Model(&orders).Where("id BETWEEN ? AND ?", first, last)              // bun
//
// For the next page, use id > the last key instead of first, with ORDER BY id and a limit.
func ExampleLayout_Between() {
	november := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	first, last := idgen.DefaultLayout().Between(november, november.AddDate(0, 1, 0))
	fmt.Println(first, last)
	// Output: 242437482086400000 253309118054399999
}
