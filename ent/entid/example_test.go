package entid_test

import (
	"context"
	"fmt"
	"log"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct{ ent.Schema }

func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

// The mixin declares the id and the hook that fills it.
func ExampleMixin() {
	// func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
	for _, m := range (User{}).Mixin() {
		for _, f := range m.Fields() {
			d := f.Descriptor()
			fmt.Println(d.Name, d.Info, d.SchemaType[dialect.Postgres], len(m.Hooks()), "hook")
		}
	}
	// Output: id pk.ID bigint 1 hook
}

// Ids of another type have another column.
func ExampleFor() {
	for _, m := range []ent.Mixin{entid.For[pk.Text]{}, entid.For[pk.SortText]{Name: "orders"}} {
		d := m.Fields()[0].Descriptor()
		fmt.Println(d.Name, d.Info, d.SchemaType[dialect.MySQL])
	}
	// Output:
	// id pk.Text varchar(20)
	// id pk.SortText char(13)
}

// A foreign key that the schema shows.
func ExampleField() {
	d := entid.Field[pk.ID]{Name: "author_id", Optional: true}.Descriptor()
	fmt.Println(d.Name, d.Info, d.SchemaType[dialect.SQLite], "optional", d.Optional)
	// Output: author_id pk.ID bigint optional true
}

// A userCreate stands for the mutation that ent generates.
type userCreate struct {
	ent.Mutation
	id pk.ID
}

func (*userCreate) Op() ent.Op          { return ent.OpCreate }
func (*userCreate) Type() string        { return "User" }
func (u *userCreate) ID() (pk.ID, bool) { return u.id, u.id != 0 }
func (u *userCreate) SetID(id pk.ID)    { u.id = id }

// save creates a user as a generated client with this hook does.
func save(ctx context.Context, hook ent.Hook) (pk.ID, error) {
	u := new(userCreate)
	insert := ent.MutateFunc(func(context.Context, ent.Mutation) (ent.Value, error) { return u, nil })
	_, err := hook(insert).Mutate(ctx, u)
	return u.id, err
}

// Ids from another source than the default pool.
func ExampleHook() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(5)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)

	hook := entid.Hook(pool) // in a program: client.Use(entid.Hook(pool))
	id, err := save(ctx, hook)
	fmt.Println("worker", pool.Layout().Decode(id.Int64()).Worker, err)
	// Output: worker 5 <nil>
}

// A source that prints how many ids each call takes.
type printing struct{ idgen.Source }

func (p printing) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	fmt.Println("drawn in one step:", n)
	return p.Source.Append(ctx, dst, n)
}

// All ids of a bulk create in one step.
func ExampleReserve() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(6)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(context.Background())
	hook := entid.Hook(printing{pool})

	// In a program: client.User.CreateBulk(builders...).Save(entid.Reserve(ctx, len(builders)))
	ctx := entid.Reserve(context.Background(), 3)
	var last pk.ID
	for range 3 {
		id, err := save(ctx, hook)
		fmt.Println("ascending", last < id, err)
		last = id
	}
	// Output:
	// drawn in one step: 3
	// ascending true <nil>
	// ascending true <nil>
	// ascending true <nil>
}
