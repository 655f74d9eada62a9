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

// Numbers without gaps between them, as long as the process lives. A program has
// segmentstore.Postgres(db) in place of the memory.
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

// A column of 32 bits ends where its numbers do, and not with a row that the
// database refuses.
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
