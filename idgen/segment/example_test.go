package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
)

// The numbers have no gaps for as long as the process lives. In a real program, replace
// the in-memory store with one such as segmentstore.Postgres(db).
func ExampleSegment() {
	ctx := context.Background()
	orders, err := segment.New(new(segmenttest.Memory), segment.Config{Name: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close(ctx)

	first, _ := orders.Next(ctx)
	more, _ := orders.Append(ctx, nil, 3)
	fmt.Println(first, more)
	// Output: 1 [2 3 4]
}

// With MaxValue, a segment for a 32-bit column returns an error when its numbers are
// used up. Otherwise the database would be the first to notice, and reject the row.
func ExampleExhaustedError() {
	ctx := context.Background()
	last, err := segment.New(new(segmenttest.Memory), segment.Config{
		Name: "seats", MinValue: math.MaxInt32, MaxValue: math.MaxInt32,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer last.Close(ctx)

	fmt.Println(last.Next(ctx))
	_, err = last.Next(ctx)
	if e, ok := errors.AsType[*segment.ExhaustedError](err); ok {
		fmt.Println(e.Name, "end at", e.MaxValue)
	}
	// Output:
	// 2147483647 <nil>
	// seats end at 2147483647
}
