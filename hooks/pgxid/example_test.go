package pgxid_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func Example() {
	ctx := context.Background()
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(ctx)
	idgen.SetDefault(ids)

	config, err := pgxpool.ParseConfig("postgres://app@127.0.0.1/app")
	if err != nil {
		log.Fatal(err)
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxid.Register(conn.TypeMap())
		return nil
	}
	db, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	type User struct {
		ID   pk.ID
		Name string
	}
	users := []User{{Name: "Ada"}, {Name: "Bob"}}
	_, err = pgxid.CopyFrom(ctx, db, pgx.Identifier{"users"}, []string{"id", "name"},
		pgx.CopyFromSlice(len(users), func(i int) ([]any, error) {
			return []any{&users[i].ID, users[i].Name}, nil
		}))
	if err != nil {
		log.Fatal(err)
	}

	rows, err := db.Query(ctx, "SELECT id, name FROM users WHERE id = ANY($1)", []pk.ID{users[0].ID, users[1].ID})
	if err != nil {
		log.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[User])
	fmt.Println(found, err)
}

// A printer stands for a connection, so that these examples need no server.
type printer struct{}

func (printer) CopyFrom(_ context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (n int64, err error) {
	for ; rows.Next(); n++ {
		values, err := rows.Values()
		if err != nil {
			return 0, err
		}
		fmt.Println("COPY", table.Sanitize(), columns, len(values), "values")
	}
	return n, rows.Err()
}

// CopyFrom fills the keys where the pointers point to. A printer stands for the
// connection.
func ExampleCopyFrom() {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(3)})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(context.Background())
	idgen.SetDefault(ids)
	defer idgen.SetDefault(nil)

	type User struct {
		ID   pk.ID
		Name string
	}
	users := []User{{Name: "Ada"}, {Name: "Bob"}}
	n, err := pgxid.CopyFrom(context.Background(), printer{}, pgx.Identifier{"users"}, []string{"id", "name"},
		pgx.CopyFromSlice(len(users), func(i int) ([]any, error) {
			return []any{&users[i].ID, users[i].Name}, nil
		}))
	fmt.Println(n, err)
	fmt.Println("worker", ids.Layout().Decode(users[0].ID.Int64()).Worker)
	fmt.Println("ascending", users[0].ID < users[1].ID)
	// Output:
	// COPY "users" [id name] 2 values
	// COPY "users" [id name] 2 values
	// 2 <nil>
	// worker 3
	// ascending true
}

// The pointers are filled in the order of the rows; a key that is set is kept.
func ExampleCopier_CopyFrom() {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(2)})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(context.Background())

	type Order struct {
		Number pk.SortText
		Item   string
	}
	orders := []Order{{Item: "tea"}, {Number: 42, Item: "milk"}, {Item: "sugar"}}

	copier := pgxid.Copier{Source: ids.Named("orders"), Key: "number"}
	n, err := copier.CopyFrom(context.Background(), printer{}, pgx.Identifier{"orders"}, []string{"number", "item"},
		pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) {
			return []any{&orders[i].Number, orders[i].Item}, nil
		}))
	fmt.Println(n, err)
	fmt.Println("given", orders[1].Number)
	fmt.Println("ascending", 0 < orders[0].Number && orders[0].Number < orders[2].Number)
	// Output:
	// COPY "orders" [number item] 2 values
	// COPY "orders" [number item] 2 values
	// COPY "orders" [number item] 2 values
	// 3 <nil>
	// given 000000000001A
	// ascending true
}

// pgx cannot encode a list of keys if it does not know the type of the parameter.
// Register changes that.
func ExampleRegister() {
	m := pgtype.NewMap() // in a program, conn.TypeMap()
	list := []pk.ID{1234567890123456788, 1234567890123456789}

	_, err := m.Encode(0, pgtype.TextFormatCode, list, nil)
	fmt.Println("before:", err != nil)

	pgxid.Register(m)
	text, err := m.Encode(0, pgtype.TextFormatCode, list, nil)
	fmt.Printf("after: %s %v\n", text, err)
	// Output:
	// before: true
	// after: {1234567890123456788,1234567890123456789} <nil>
}
