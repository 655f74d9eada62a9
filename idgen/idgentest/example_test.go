package idgentest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/idgentest"
)

func ExampleNew() {
	test := func(t *testing.T) {
		ids := idgentest.New(t) // pass it to an integration, as its Source
		order, _ := ids.Next(t.Context())
		item, _ := ids.Next(t.Context())
		fmt.Println(order, item)

		ids.Advance(24 * time.Hour)
		order, _ = ids.Next(t.Context())
		fmt.Println(order, ids.Layout().Decode(order).Time.UTC())
	}
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "TestOrders", F: test}})
	// Output:
	// 132271570944004097 132271570944004098
	// 132633958809604097 2026-01-02 00:00:00 +0000 UTC
}
