package main

import (
	"context"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/bench/internal/ent"
)

func openEntRows(db *database, k keyKind) (ways, error) {
	name := map[string]string{"postgres": dialect.Postgres, "mysql": dialect.MySQL}[db.dialect]
	client := ent.NewClient(ent.Driver(entsql.OpenDB(name, db.sql)))
	switch make := binary(k.make); k.table {
	case "rows_auto":
		return entWays(func() (*ent.CountedCreate, error) {
			return named(client.Counted.Create()), nil
		}, client.Counted.CreateBulk), nil
	case "rows_snowkey":
		return entWays(func() (*ent.FilledCreate, error) {
			return named(client.Filled.Create()), nil
		}, client.Filled.CreateBulk), nil
	case "rows_uuidv4":
		return entWays(func() (*ent.RandomCreate, error) {
			id, err := make()
			return named(client.Random.Create().SetID(id)), err
		}, client.Random.CreateBulk), nil
	default:
		return entWays(func() (*ent.OrderedCreate, error) {
			id, err := make()
			return named(client.Ordered.Create().SetID(id)), err
		}, client.Ordered.CreateBulk), nil
	}
}

// named sets the values that all rows share.
func named[C interface {
	SetName(string) C
	SetEmail(string) C
	SetCreatedAt(time.Time) C
}](c C) C {
	return c.SetName(someName).SetEmail(someEmail).SetCreatedAt(moment())
}

func entWays[C, B interface{ Exec(context.Context) error }](create func() (C, error), bulk func(...C) B) ways {
	ctx := context.Background()
	return waysOf(create,
		func(c *C) error { return (*c).Exec(ctx) },
		func(list []C) error { return bulk(list...).Exec(ctx) })
}
