package sqlid_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	_ "github.com/glebarez/go-sqlite"

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

func Example() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	check(err)
	defer pool.Close(ctx)
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	_, err = db.ExecContext(ctx, "CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT)")
	check(err)

	type User struct {
		ID   pk.ID
		Name string
	}
	ada := User{Name: "Ada"}
	check(sqlid.Fill(ctx, &ada))
	_, err = db.ExecContext(ctx, "INSERT INTO users (id, name) VALUES (?, ?)", ada.ID, ada.Name)
	check(err)

	var id pk.ID
	check(db.QueryRowContext(ctx, "SELECT id FROM users WHERE name = 'Ada'").Scan(&id))
	fmt.Println(id == ada.ID, "by worker", pool.Layout().Decode(id.Int64()).Worker)
	// Output: true by worker 7
}

// The keys of a slice are drawn in one step and ascend in its order. What is set
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

// What cannot hold a key is an error that names the field and what to declare.
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
	// declare it as pk.ID, int64, uint64 or string, or a pointer to one
}
