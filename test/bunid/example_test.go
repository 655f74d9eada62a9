package bunid_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func openSQLite() (*bun.DB, func()) {
	conn, err := sql.Open("sqlite", ":memory:")
	check(err)
	conn.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	return bun.NewDB(conn, sqlitedialect.New()), func() { conn.Close() }
}

type Author struct {
	bunid.Filled
	ID   pk.ID `bun:",pk"`
	Name string
}

type Member struct {
	bunid.Filled
	ID    pk.ID  `bun:",pk"`
	Email string `bun:",unique"`
	Name  string
}

// A row that was merged has the key of the row in the table. A row that was skipped has
// no key.
func Example_upsert() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(9)})
	check(err)
	defer pool.Close(ctx)
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	db, done := openSQLite()
	defer done()
	db, err = bunid.Use(db, (*Member)(nil))
	check(err)
	check(db.ResetModel(ctx, (*Member)(nil)))
	ada := Member{Email: "ada@example.com", Name: "Ada"}
	_, err = db.NewInsert().Model(&ada).Exec(ctx)
	check(err)

	again := Member{Email: "ada@example.com", Name: "Ada Lovelace"}
	_, err = db.NewInsert().Model(&again).On("CONFLICT (email) DO UPDATE").Exec(ctx)
	check(err)
	fmt.Println("merged:", again.ID == ada.ID)

	out := Member{Email: "ada@example.com"}
	_, err = db.NewInsert().Model(&out).Ignore().Exec(ctx)
	check(err)
	fmt.Println("left out:", out.ID.IsZero())

	members := []Member{{Email: "ada@example.com"}, {Email: "bob@example.com"}}
	_, err = db.NewInsert().Model(&members).Ignore().Returning("*").Exec(ctx)
	check(err)
	fmt.Println("stored:", len(members), members[0].Email)
	// Output:
	// merged: true
	// left out: true
	// stored: 1 bob@example.com
}

// If bun inserts rows without calling their hooks, fill in their keys beforehand.
func ExampleFillRows() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(10)})
	check(err)
	defer pool.Close(ctx)
	db, done := openSQLite()
	defer done()
	db, err = bunid.Use(db, (*Author)(nil))
	check(err)
	check(db.ResetModel(ctx, (*Author)(nil)))

	authors := []Author{{Name: "Ada"}, {Name: "Grace"}}
	check(bunid.FillRows(ctx, db, &authors, pool))
	_, err = db.NewInsert().With("data", db.NewValues(&authors)).Model((*Author)(nil)).Table("data").
		Exec(bunid.Given(ctx))
	check(err)
	n, err := db.NewSelect().Model((*Author)(nil)).Where("id IN (?, ?)", authors[0].ID, authors[1].ID).Count(ctx)
	fmt.Println(n, err)
	// Output: 2 <nil>
}
