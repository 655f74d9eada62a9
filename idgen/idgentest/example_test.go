package idgentest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/idgentest"
)

func ExampleNew() {
	test := func(t testing.TB) {
		ctx := context.Background()
		ids := idgentest.New(t) // pass it to an integration, as its Source
		order, _ := ids.Next(ctx)
		item, _ := ids.Next(ctx)
		fmt.Println(order, item)

		ids.Advance(24 * time.Hour)
		order, _ = ids.Next(ctx)
		fmt.Println(order, ids.Layout().Decode(order).Time.UTC())
	}
	test(new(testing.T))
	// Output:
	// 132271570944004097 132271570944004098
	// 132633958809604097 2026-01-02 00:00:00 +0000 UTC
}
