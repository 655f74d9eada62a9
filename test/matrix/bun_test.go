package matrix

import (
	"cmp"
	"context"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/matrix/keys"
)

var bunIntegration = integration{
	name: "bun",
	benches: map[keyType]bench{
		idKey:       &bunBench[bunItem[pk.ID]]{},
		typedKey:    &bunBench[bunItem[keys.ItemID]]{},
		prefixedKey: &bunBench[bunItem[keys.PrefixedItemID]]{},
		publicKey:   &bunBench[bunItem[keys.PublicItemID]]{},
		stringKey:   &bunBench[bunStringItem]{},
		textKey:     &bunBench[bunTextItem]{},
		sortKey:     &bunBench[bunSortItem]{},
		int64Key:    &bunBench[bunItem[int64]]{},
	},
}

// If the type of the column differs from what bun would use for the Go type, it must be
// given in the tag. An alias is needed if the name of the Go type contains a dot, which
// is the case for pk.ID in brackets.
type (
	bunItem[K any] struct {
		bun.BaseModel `bun:"table:items,alias:item"`
		sourced
		ID K `bun:",pk"`
		Cells
	}
	bunStringItem struct {
		bun.BaseModel `bun:"table:items,alias:item"`
		sourced
		ID pk.String `bun:",pk,type:bigint"`
		Cells
	}
	bunTextItem struct {
		bun.BaseModel `bun:"table:items,alias:item"`
		sourced
		ID pk.Text `bun:",pk,type:varchar(20)"`
		Cells
	}
	bunSortItem struct {
		bun.BaseModel `bun:"table:items,alias:item"`
		sourced
		ID pk.SortText `bun:",pk,type:char(13)"`
		Cells
	}
)

// sourced is embedded in models that should draw from the source of the suite.
type sourced struct{}

func (*sourced) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	return bunid.Fill(ctx, q, sourceOf(ctx))
}

type bunBench[M any] struct{ db *bun.DB }

func (b *bunBench[M]) open(t *testing.T, e env) {
	t.Helper()
	e.createItems(t)
	dialect := map[string]schema.Dialect{"sqlite": sqlitedialect.New(), "postgres": pgdialect.New(), "mysql": mysqldialect.New()}[e.db.Dialect]
	b.db = dbtest.Must(bunid.Use(bun.NewDB(e.conn, dialect, bun.WithDiscardUnknownColumns()), (*M)(nil)))(t)
}

func (*bunBench[M]) table() string { return "items" }

func (b *bunBench[M]) ways() []way {
	type query = *bun.InsertQuery
	insert := func(q query) query { return q }
	returning := func(set func(query) query) func(query) query {
		return func(q query) query { return set(q).Returning("*") }
	}
	return []way{
		{one, "`NewInsert().Model(&row)`", b.each(insert)},
		{slice, "`NewInsert().Model(&rows)`", b.list(insert)},
		{pointers, "`NewInsert().Model(&[]*Row{…})`", rows(func(ctx context.Context, ms *[]M) error {
			list := pointersTo(*ms)
			return exec(b.db.NewInsert().Model(&list).Exec(ctx))
		})},
		{upsert, "`Model(&row).On(…).Set(…)`", b.each(bunUpsert)},
		{upsert, "`Model(&rows).On(…).Set(…)`", b.list(bunUpsert)},
		{upsert, "`Model(&rows).On(…).Set(…).Returning(\"*\")`", b.list(returning(bunUpsert))},
		{ignore, "`Model(&row).Ignore()`", b.each(query.Ignore)},
		{ignore, "`Model(&rows).Ignore()`", b.list(query.Ignore)},
		{ignore, "`Model(&rows).Ignore().Returning(\"*\")`", b.list(returning(query.Ignore))},
		{raw, "`Model(&map[string]any{…}).Table(…)`", b.maps},
		{raw, "`NewValues(&rows)`", rows(func(ctx context.Context, ms *[]M) error {
			return exec(b.db.NewInsert().With("data", b.db.NewValues(ms)).Model((*M)(nil)).Table("data").Exec(ctx))
		})},
		{preset, "`NewInsert().Model(&rows)`", b.list(insert)},
		{rollback, "`RunInTx`, `NewInsert().Model(&rows)`", rows(func(ctx context.Context, ms *[]M) error {
			return rolledBack(b.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
				_, err := tx.NewInsert().Model(ms).Exec(ctx)
				return cmp.Or(err, errRollBack)
			}))
		})},
		{failure, "`NewInsert().Model(&rows)`", b.list(insert)},
	}
}

// bunUpsert merges rows that have the same name.
func bunUpsert(q *bun.InsertQuery) *bun.InsertQuery {
	if q.DB().Dialect().Name().String() == "mysql" {
		return q.On("DUPLICATE KEY UPDATE").Set("n = VALUES(n)")
	}
	return q.On("CONFLICT (name) DO UPDATE").Set("n = EXCLUDED.n")
}

// list is a way that inserts a slice with one INSERT.
func (b *bunBench[M]) list(set func(*bun.InsertQuery) *bun.InsertQuery) create {
	return rows(func(ctx context.Context, ms *[]M) error { return exec(set(b.db.NewInsert().Model(ms)).Exec(ctx)) })
}

// each is a way that uses one INSERT for each row.
func (b *bunBench[M]) each(set func(*bun.InsertQuery) *bun.InsertQuery) create {
	return each(func(ctx context.Context, m *M) error { return exec(set(b.db.NewInsert().Model(m)).Exec(ctx)) })
}

func (b *bunBench[M]) maps(ctx context.Context, items []item) ([]item, error) {
	for _, i := range items {
		m := map[string]any{"name": i.name, "n": i.n}
		if _, err := b.db.NewInsert().Model(&m).Table("items").Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
