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
		idKey:       &bunBench[bunItem[pk.ID], *bunItem[pk.ID]]{},
		typedKey:    &bunBench[bunItem[keys.ItemID], *bunItem[keys.ItemID]]{},
		prefixedKey: &bunBench[bunItem[keys.PrefixedItemID], *bunItem[keys.PrefixedItemID]]{},
		publicKey:   &bunBench[bunItem[keys.PublicItemID], *bunItem[keys.PublicItemID]]{},
		stringKey:   &bunBench[bunStringItem, *bunStringItem]{},
		textKey:     &bunBench[bunTextItem, *bunTextItem]{},
		sortKey:     &bunBench[bunSortItem, *bunSortItem]{},
		int64Key:    &bunBench[bunItem[int64], *bunItem[int64]]{},
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

func (m *bunItem[K]) set(i item)    { m.ID, m.Cells = keyOf[K](i.key), Cells{i.name, i.n} }
func (m *bunStringItem) set(i item) { m.ID, m.Cells = keyOf[pk.String](i.key), Cells{i.name, i.n} }
func (m *bunTextItem) set(i item)   { m.ID, m.Cells = pk.Text(i.key), Cells{i.name, i.n} }
func (m *bunSortItem) set(i item)   { m.ID, m.Cells = pk.SortText(i.key), Cells{i.name, i.n} }
func (m *bunItem[K]) get() item     { return item{name: m.Name, key: numberOf(m.ID), n: m.N} }
func (m *bunStringItem) get() item  { return item{name: m.Name, key: numberOf(m.ID), n: m.N} }
func (m *bunTextItem) get() item    { return item{name: m.Name, key: numberOf(m.ID), n: m.N} }
func (m *bunSortItem) get() item    { return item{name: m.Name, key: numberOf(m.ID), n: m.N} }

type bunBench[M any, P model[M]] struct{ db *bun.DB }

func (b *bunBench[M, P]) open(t *testing.T, e env) {
	t.Helper()
	e.createItems(t)
	dialect := map[string]schema.Dialect{"sqlite": sqlitedialect.New(), "postgres": pgdialect.New(), "mysql": mysqldialect.New()}[e.db.Dialect]
	b.db = dbtest.Must(bunid.Use(bun.NewDB(e.conn, dialect, bun.WithDiscardUnknownColumns()), (*M)(nil)))(t)
}

func (*bunBench[M, P]) table() string { return "items" }

func (b *bunBench[M, P]) ways() []way {
	type query = *bun.InsertQuery
	insert := func(q query) query { return q }
	returning := func(set func(query) query) func(query) query {
		return func(q query) query { return set(q).Returning("*") }
	}
	return []way{
		{one, "`NewInsert().Model(&row)`", b.each(insert)},
		{slice, "`NewInsert().Model(&rows)`", b.list(insert)},
		{pointers, "`NewInsert().Model(&[]*Row{…})`", rows[M, P](func(ctx context.Context, ms *[]M) error {
			list := pointersTo(*ms)
			_, err := b.db.NewInsert().Model(&list).Exec(ctx)
			return err
		})},
		{upsert, "`Model(&row).On(…).Set(…)`", b.each(bunUpsert)},
		{upsert, "`Model(&rows).On(…).Set(…)`", b.list(bunUpsert)},
		{upsert, "`Model(&rows).On(…).Set(…).Returning(\"*\")`", b.list(returning(bunUpsert))},
		{ignore, "`Model(&row).Ignore()`", b.each(query.Ignore)},
		{ignore, "`Model(&rows).Ignore()`", b.list(query.Ignore)},
		{ignore, "`Model(&rows).Ignore().Returning(\"*\")`", b.list(returning(query.Ignore))},
		{raw, "`Model(&map[string]any{…}).Table(…)`", b.maps},
		{raw, "`NewValues(&rows)`", rows[M, P](func(ctx context.Context, ms *[]M) error {
			_, err := b.db.NewInsert().With("data", b.db.NewValues(ms)).Model((*M)(nil)).Table("data").Exec(ctx)
			return err
		})},
		{preset, "`NewInsert().Model(&rows)`", b.list(insert)},
		{rollback, "`RunInTx`, `NewInsert().Model(&rows)`", rows[M, P](func(ctx context.Context, ms *[]M) error {
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
func (b *bunBench[M, P]) list(set func(*bun.InsertQuery) *bun.InsertQuery) create {
	return rows[M, P](func(ctx context.Context, ms *[]M) error {
		_, err := set(b.db.NewInsert().Model(ms)).Exec(ctx)
		return err
	})
}

// each is a way that uses one INSERT for each row.
func (b *bunBench[M, P]) each(set func(*bun.InsertQuery) *bun.InsertQuery) create {
	return each[M, P](func(ctx context.Context, m *M) error {
		_, err := set(b.db.NewInsert().Model(m)).Exec(ctx)
		return err
	})
}

func (b *bunBench[M, P]) maps(ctx context.Context, items []item) ([]item, error) {
	for _, i := range items {
		m := map[string]any{"name": i.name, "n": i.n}
		if _, err := b.db.NewInsert().Model(&m).Table("items").Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
