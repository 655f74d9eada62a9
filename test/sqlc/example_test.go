package sqlc

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/test/sqlc/sqlite"
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

	conn, err := sql.Open("sqlite", ":memory:")
	check(err)
	defer conn.Close()
	conn.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	_, err = conn.ExecContext(ctx, schema)
	check(err)
	queries := sqlite.New(conn)

	author := sqlite.CreateAuthorParams{Name: "Ada"}
	check(sqlid.Fill(ctx, &author))
	check(queries.CreateAuthor(ctx, author))

	found, err := queries.GetAuthor(ctx, author.ID)
	check(err)
	fmt.Println(found.Name, "by worker", pool.Layout().Decode(found.ID.Int64()).Worker)
	// Output: Ada by worker 7
}
