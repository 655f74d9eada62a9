package main

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// These types are the rows as bun models. We can't use row here, because bun reads the
// names of the key column and the table from struct tags.
type (
	bunCounted struct {
		bun.BaseModel `bun:"table:rows_auto"`
		ID            int64 `bun:",pk,autoincrement"`
		Name, Email   string
		CreatedAt     time.Time
	}
	bunFilled struct {
		bun.BaseModel `bun:"table:rows_snowkey"`
		bunid.Filled
		ID          pk.ID `bun:",pk"`
		Name, Email string
		CreatedAt   time.Time
	}
	bunRow[K any] struct {
		bun.BaseModel `bun:"table:rows"`
		ID            K `bun:",pk"`
		Name, Email   string
		CreatedAt     time.Time
	}
)

func openBun(db *database, k keyKind) (ways, error) {
	var dialect schema.Dialect = pgdialect.New()
	if db.dialect == "mysql" {
		dialect = mysqldialect.New()
	}
	orm := bun.NewDB(db.sql, dialect)
	switch {
	case k.ours:
		orm, err := bunid.Use(orm, (*bunFilled)(nil))
		return bunWays(orm, k, func() (bunFilled, error) {
			return bunFilled{Name: someName, Email: someEmail, CreatedAt: moment()}, nil
		}), err
	case k.make == nil:
		return bunWays(orm, k, func() (bunCounted, error) {
			return bunCounted{Name: someName, Email: someEmail, CreatedAt: moment()}, nil
		}), nil
	case db.dialect == "mysql":
		return bunWays(orm, k, bunRowsWith(binary(k.make))), nil
	default:
		return bunWays(orm, k, bunRowsWith(k.make)), nil
	}
}

func bunRowsWith[K any](make func() (K, error)) func() (bunRow[K], error) {
	return func() (bunRow[K], error) {
		id, err := make()
		return bunRow[K]{ID: id, Name: someName, Email: someEmail, CreatedAt: moment()}, err
	}
}

func bunWays[R any](orm *bun.DB, k keyKind, create func() (R, error)) ways {
	ctx := context.Background()
	insert := func(model any) error {
		q := orm.NewInsert().Model(model)
		if k.make != nil {
			q = q.ModelTableExpr(k.table)
		}
		_, err := q.Exec(ctx)
		return err
	}
	return waysOf(create,
		func(r *R) error { return insert(r) },
		func(rows []R) error { return insert(&rows) })
}
