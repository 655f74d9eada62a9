package entid_test

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"log"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/user"
)

// The schema holds
//
//	func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
func Example() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(5)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)
	idgen.SetDefault(pool)

	client := openMemory(ctx)
	defer client.Close()
	alice := client.User.Create().SetName("Alice").SaveX(ctx)

	fmt.Println("worker", pool.Layout().Decode(alice.ID.Int64()).Worker)
	fmt.Println(client.User.GetX(ctx, alice.ID).Name)
	// Output:
	// worker 5
	// Alice
}

// A bulk create, and a query in the order of creation.
func ExampleReserve() {
	ctx := context.Background()
	client := openMemory(ctx)
	defer client.Close()
	client.Use(entid.Hook(newCounter())) // ids that an example can print

	names := []string{"Alice", "Bob", "Carol"}
	create := client.User.MapCreateBulk(names, func(u *ent.UserCreate, i int) { u.SetName(names[i]) })
	users, err := create.Save(entid.Reserve(ctx, len(names)))
	if err != nil {
		log.Fatal(err)
	}
	after := client.User.Query().Where(user.IDGT(users[0].ID)).Order(user.ByID()).AllX(ctx)
	for _, u := range after {
		fmt.Println(u.ID, u.Name)
	}
	// Output:
	// 9007199254740994 Bob
	// 9007199254740995 Carol
}

// Two databases in one process, each with a pool of its own.
func ExampleHook() {
	ctx := context.Background()
	for n := range int64(2) {
		pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(100 + n)})
		if err != nil {
			log.Fatal(err)
		}
		defer pool.Close(ctx)
		client := openMemory(ctx)
		defer client.Close()
		client.Use(entid.Hook(pool))

		u := client.User.Create().SetName("Alice").SaveX(ctx)
		fmt.Println("worker", pool.Layout().Decode(u.ID.Int64()).Worker)
	}
	// Output:
	// worker 100
	// worker 101
}

// openMemory returns a client of an empty database in memory.
func openMemory(ctx context.Context) *ent.Client {
	db, err := stdsql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	client := ent.NewClient(ent.Driver(sql.OpenDB(dialect.SQLite, db)))
	if err := client.Schema.Create(ctx); err != nil {
		log.Fatal(err)
	}
	return client
}
