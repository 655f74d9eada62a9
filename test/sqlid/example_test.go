package sqlid_test

import (
	"context"
	"database/sql"
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
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
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
