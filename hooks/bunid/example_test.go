package bunid_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"

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

// open stands for bun.NewDB(conn, pgdialect.New()). It has no database behind it:
// every statement succeeds.
func open() *bun.DB {
	d := &postgres{Dialect: schema.NewNopQueryGen().Dialect()}
	d.tables = schema.NewTables(d)
	return bun.NewDB(sql.OpenDB(connection{}), d)
}

// A postgres is bun's dialect without a database. It has another name, because bun
// writes no values otherwise, and its own tables.
type postgres struct {
	schema.Dialect
	tables *schema.Tables
}

func (*postgres) Name() dialect.Name { return dialect.PG }

func (d *postgres) Tables() *schema.Tables { return d.tables }

type connection struct{ driver.Conn }

func (c connection) Connect(context.Context) (driver.Conn, error) { return c, nil }

func (connection) Driver() driver.Driver { return nil }

func (connection) Close() error { return nil }

func (connection) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

type Author struct {
	bunid.Filled
	ID   pk.ID `bun:",pk"`
	Name string
}

// An INSERT fills the keys that are zero.
func Example() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	check(err)
	defer pool.Close(ctx)
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	db, err := bunid.Use(open(), (*Author)(nil))
	check(err)
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

// Shop is embedded in models that take their keys from orders.
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

// A model with its own BeforeInsert calls Fill, here with another source.
func ExampleFill() {
	ctx := context.Background()
	var err error
	orders, err = idgen.NewPool(idgen.Config{Worker: worker.Static(8)})
	check(err)
	defer orders.Close(ctx)

	db, err := bunid.Use(open(), (*Order)(nil))
	check(err)
	order := Order{Item: "tea"}
	_, err = db.NewInsert().Model(&order).Exec(ctx)
	check(err)
	fmt.Println("worker", orders.Layout().Decode(order.ID.Int64()).Worker)
	// Output: worker 8
}

type Audited struct {
	bunid.Filled
	ID pk.ID `bun:",pk"`
	By string
}

// BeforeInsert shadows the method of bunid.Filled.
func (*Audited) BeforeInsert(context.Context, *bun.InsertQuery) error { return nil }

// Use checks models when the program starts.
func ExampleUse() {
	_, err := bunid.Use(open(), (*Audited)(nil))
	if e, ok := errors.AsType[*bunid.FieldError](err); ok {
		fmt.Println(e.Model, e.Problem)
		fmt.Println(e.Remedy)
	}
	// Output:
	// bunid_test.Audited has a BeforeInsert of its own, which shadows that of bunid.Filled
	// begin it with: if err := bunid.Fill(ctx, query, nil); err != nil { return err }
}

// The guard refuses a map without its key, because bun calls no hooks for maps.
func ExampleUse_maps() {
	db, err := bunid.Use(open(), (*Author)(nil))
	check(err)
	m := map[string]any{"name": "Ada"}
	_, err = db.NewInsert().Model(&m).Table("authors").Exec(context.Background())
	fmt.Println(err)
	// Output:
	// bunid: authors would get a map without its key id, because bun calls no hooks for maps; set m["id"] to a key from the pool, or insert a bunid_test.Author
}

// NewValues calls no hooks. FillRows fills the rows before it, and Given says so.
func ExampleFillRows() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(10)})
	check(err)
	defer pool.Close(ctx)
	db, err := bunid.Use(open(), (*Author)(nil))
	check(err)

	authors := []Author{{Name: "Ada"}, {Name: "Grace"}}
	check(bunid.FillRows(ctx, db, &authors, pool))
	_, err = db.NewInsert().With("data", db.NewValues(&authors)).Model((*Author)(nil)).Table("data").
		Exec(bunid.Given(ctx))
	fmt.Println("ascending", 0 < authors[0].ID && authors[0].ID < authors[1].ID, err)
	// Output: ascending true <nil>
}
