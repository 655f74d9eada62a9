package catalog_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// What refers to the keys that a database counts?
func Example() {
	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	_, err = db.Exec(`CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
		CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id BIGINT REFERENCES users (id));
		INSERT INTO users (name) VALUES ('Ada'), ('Bob')`)
	check(err)

	report, err := catalog.Inspect(context.Background(), db, catalog.Options{})
	check(err)
	for _, key := range report.Keys {
		fmt.Printf("%s.%s: %s, the next is %s\n", key.Column.Table.Name, key.Column.Name, key.Mechanism, key.Counter.Next)
		for _, fk := range key.ForeignKeys {
			fmt.Printf("  %s.%s\n", fk.Child.Table.Name, fk.Child.Name)
		}
	}
	// Output:
	// orders.id: autoincrement, the next is 1
	// users.id: autoincrement, the next is 3
	//   orders.user_id
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
