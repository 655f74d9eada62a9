package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	ID   pk.ID // a BIGINT, filled by sqlid.Fill
	Name string
}

func main() {
	db, ctx := must(sql.Open("mysql", os.Getenv("DATABASE_URL"))), context.Background()
	ids := must(snowkey.Open(ctx, sqlstore.MySQL(db), snowkey.Config{}))
	defer ids.Close(ctx) // gives the worker number back
	idgen.SetDefault(ids)
	must(db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS users (id BIGINT PRIMARY KEY CHECK (id > 0), name VARCHAR(40))"))
	users := []User{{Name: "Ada"}, {Name: "Bob"}}
	check(sqlid.Fill(ctx, users))
	for _, u := range users {
		must(db.ExecContext(ctx, "INSERT INTO users (id, name) VALUES (?, ?)", u.ID, u.Name))
	}
	fmt.Println(users[0].ID, users[1].ID)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
