package autoinc_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// A database stops counting the keys of users. In production, somebody reads the plan, and
// deploys readers and writers between the phases.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	_, err = db.Exec(`CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
		INSERT INTO users (name) VALUES ('Ada')`)
	check(err)

	plan, err := autoinc.NewPlan(ctx, db, autoinc.PlanOptions{})
	check(err)
	for {
		phase, err := autoinc.Apply(ctx, db, plan, autoinc.ApplyOptions{})
		check(err)
		if phase.Name == "" {
			break
		}
		fmt.Println(phase.Name)
	}
	proof, err := autoinc.Verify(ctx, db, plan)
	check(err)
	fmt.Println("proven:", proof.Err() == nil)

	_, err = db.Exec("INSERT INTO users (name) VALUES ('Bob')")
	fmt.Println("a row without a key is refused:", err != nil)
	// Output:
	// widen
	// readers
	// fence
	// switch-on
	// drop
	// guard
	// proven: true
	// a row without a key is refused: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
