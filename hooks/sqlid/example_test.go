package sqlid_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Fill the struct, then insert it.
func Example() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	check(err)
	defer pool.Close(ctx)
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	type User struct {
		ID   pk.ID  `db:"id"`
		Name string `db:"name"`
	}
	ada := User{Name: "Ada"}
	check(sqlid.Fill(ctx, &ada))
	// db.NamedExecContext(ctx, "INSERT INTO users (id, name) VALUES (:id, :name)", ada)

	fmt.Println("worker", pool.Layout().Decode(ada.ID.Int64()).Worker)
	// Output: worker 7
}

// The keys of a slice are drawn in one step and ascend in its order. A key that is set
// is kept.
func ExampleFiller_Fill() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(8)})
	check(err)
	defer pool.Close(ctx)

	type Base struct {
		Number int64 `db:"number" snowkey:"orders"` // from the pool's generator "orders"
	}
	type Order struct {
		Base
		Item string `db:"item"`
	}
	orders := []Order{{Item: "tea"}, {Base{42}, "milk"}, {Item: "sugar"}}
	check(sqlid.New(pool).Fill(ctx, orders))

	fmt.Println("given", orders[1].Number)
	fmt.Println("ascending", 0 < orders[0].Number && orders[0].Number < orders[2].Number)
	// Output:
	// given 42
	// ascending true
}

// A field that cannot hold a key is an error, which names the field and what to
// declare.
func ExampleFieldError() {
	type Invoice struct {
		ID int32 `snowkey:""`
	}
	err := sqlid.Fill(context.Background(), &Invoice{})
	if e, ok := errors.AsType[*sqlid.FieldError](err); ok {
		fmt.Println(e.Field, e.Problem)
		fmt.Println(e.Remedy)
	}
	// Output:
	// ID cannot hold a 64-bit key
	// declare it as pk.ID, or *pk.ID for NULL
}

// A row that cannot be filled is an error, and no row of the call has changed.
func ExampleRowError() {
	type User struct{ ID pk.ID }
	err := sqlid.New(nil).Fill(context.Background(), []*User{{ID: 42}, nil})
	if e, ok := errors.AsType[*sqlid.RowError](err); ok {
		fmt.Println("row", e.Row, e.Problem)
		fmt.Println(e.Remedy)
	}
	// Output:
	// row 1 is a nil pointer
	// leave it out
}
