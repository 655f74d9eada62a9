package bunid_test

import (
	"context"
	"database/sql"
	"errors"
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
	conn.SetMaxOpenConns(1) // each would have a database of its own
	return bun.NewDB(conn, sqlitedialect.New()), func() { conn.Close() }
}

type Author struct {
	bunid.Filled
	ID   pk.ID `bun:",pk"`
	Name string
}

func Example() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	check(err)
	defer pool.Close(ctx)
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	db, done := openSQLite()
	defer done()
	db, err = bunid.Use(db, (*Author)(nil))
	check(err)
	check(db.ResetModel(ctx, (*Author)(nil)))

	authors := []Author{{Name: "Ada"}, {ID: 42, Name: "Grace"}, {Name: "Barbara"}}
	_, err = db.NewInsert().Model(&authors).Exec(ctx)
	check(err)

	fmt.Println("worker", pool.Layout().Decode(authors[0].ID.Int64()).Worker)
	fmt.Println("given", authors[1].ID)
	fmt.Println("ascending", authors[0].ID < authors[2].ID)
	// Output:
	// worker 7
	// given 42
	// ascending true
}

var orders *idgen.Pool // the shop's own

// Shop is embedded in models that draw from a pool of their own.
type Shop struct {
	ID pk.ID `bun:",pk"`
}

func (*Shop) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	return bunid.Fill(ctx, q, orders)
}

type Order struct {
	Shop
	Item string
}

// A source of its own, and a hook with things to do besides.
func ExampleFill() {
	ctx := context.Background()
	var err error
	orders, err = idgen.NewPool(idgen.Config{Worker: worker.Static(8)})
	check(err)
	defer orders.Close(ctx)

	db, done := openSQLite()
	defer done()
	db, err = bunid.Use(db, (*Order)(nil))
	check(err)
	check(db.ResetModel(ctx, (*Order)(nil)))

	order := Order{Item: "tea"}
	_, err = db.NewInsert().Model(&order).Exec(ctx)
	check(err)
	fmt.Println("worker", orders.Layout().Decode(order.ID.Int64()).Worker)
	// Output: worker 8
}

type Member struct {
	bunid.Filled
	ID    pk.ID  `bun:",pk"`
	Email string `bun:",unique"`
	Name  string
}

// A row that was merged has the key of the row in the table, one that was left
// out has none.
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

type Audited struct {
	bunid.Filled
	ID pk.ID `bun:",pk"`
	By string
}

// BeforeInsert shadows that of bunid.Filled.
func (*Audited) BeforeInsert(context.Context, *bun.InsertQuery) error { return nil }

// Models are checked when the program starts, and what calls no hooks when it
// is sent.
func ExampleUse() {
	db, done := openSQLite()
	defer done()

	_, err := bunid.Use(db, (*Audited)(nil))
	if e, ok := errors.AsType[*bunid.FieldError](err); ok {
		fmt.Println(e.Model, e.Problem)
	}

	other, done := openSQLite()
	defer done()
	other, err = bunid.Use(other, (*Author)(nil))
	check(err)
	m := map[string]any{"name": "Ada"}
	_, err = other.NewInsert().Model(&m).Table("authors").Exec(context.Background())
	fmt.Println(err)
	// Output:
	// bunid_test.Audited has a BeforeInsert of its own, which shadows that of bunid.Filled
	// bunid: authors would get a map without its key id, because bun calls no hooks for maps; set m["id"] to a key from the pool, or insert a bunid_test.Author
}

// Rows that bun takes without calling hooks get their keys before.
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
