//go:build clients

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

// The schema contains
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

// This is a bulk create, followed by a query in the order of creation.
func ExampleReserve() {
	ctx := context.Background()
	client := openMemory(ctx)
	defer client.Close()
	client.Use(entid.Hook(newCounter())) // predictable ids, so that the example can print them

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

// There can be two databases in one process, each with its own pool.
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

// openMemory returns a client for an empty database in memory.
func openMemory(ctx context.Context) *ent.Client {
	db, err := stdsql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	client := ent.NewClient(ent.Driver(sql.OpenDB(dialect.SQLite, db)))
	if err := client.Schema.Create(ctx); err != nil {
		log.Fatal(err)
	}
	return client
}
