//go:build clients

package matrix

import (
	"context"
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/matrix/ent"
	_ "github.com/snowkey-go/snowkey/test/matrix/ent/runtime"
)

var entIntegrations = []integration{{
	name: "ent",
	benches: map[keyType]bench{
		idKey:       newEntBench("id_items", func(c *ent.Client) *ent.IDItemClient { return c.IDItem }),
		typedKey:    newEntBench("typed_items", func(c *ent.Client) *ent.TypedItemClient { return c.TypedItem }),
		prefixedKey: newEntBench("prefixed_items", func(c *ent.Client) *ent.PrefixedItemClient { return c.PrefixedItem }),
		publicKey:   newEntBench("public_items", func(c *ent.Client) *ent.PublicItemClient { return c.PublicItem }),
		stringKey:   newEntBench("string_items", func(c *ent.Client) *ent.StringItemClient { return c.StringItem }),
		textKey:     newEntBench("text_items", func(c *ent.Client) *ent.TextItemClient { return c.TextItem }),
		sortKey:     newEntBench("sort_items", func(c *ent.Client) *ent.SortItemClient { return c.SortItem }),
	},
}}

// ent generates these interfaces for every entity, though we only list what the ways
// use. A client C returns a builder B for one entity E, and a builder M for several.
// Keys are of type K. The builders return the upserts U and V, respectively.
type (
	entClient[B, M any] interface {
		Create() B
		CreateBulk(...B) M
		MapCreateBulk(slice any, set func(b B, i int)) M
	}
	entCreate[K, E, B, U any] interface {
		SetID(K) B
		SetName(string) B
		SetN(int) B
		AddPartIDs(...K) B
		Save(context.Context) (E, error)
		OnConflictColumns(...string) U
	}
	entCreateBulk[E, V any] interface {
		Save(context.Context) ([]E, error)
		OnConflictColumns(...string) V
	}
	entUpsert[K, U any] interface {
		UpdateNewValues() U
		Ignore() U
		ID(context.Context) (K, error)
		Exec(context.Context) error
	}
	entUpsertBulk[V any] interface {
		UpdateNewValues() V
		Ignore() V
		Exec(context.Context) error
	}
)

type entBench[C entClient[B, M], B entCreate[K, E, B, U], M entCreateBulk[E, V], U entUpsert[K, U], V entUpsertBulk[V], E, K any] struct {
	name     string              // name of the table
	entityOf func(*ent.Client) C // returns the entity's client of a given client
	client   *ent.Client         // the client for the database
	dialect  string
}

func newEntBench[C entClient[B, M], B entCreate[K, E, B, U], M entCreateBulk[E, V], U entUpsert[K, U], V entUpsertBulk[V], E, K any](
	table string, entityOf func(*ent.Client) C,
) bench {
	return &entBench[C, B, M, U, V, E, K]{name: table, entityOf: entityOf}
}

func (b *entBench[C, B, M, U, V, E, K]) open(t *testing.T, e env) {
	t.Helper()
	b.dialect = map[string]string{"sqlite": dialect.SQLite, "postgres": dialect.Postgres, "mysql": dialect.MySQL}[e.db.Dialect]
	b.client = ent.NewClient(ent.Driver(sql.OpenDB(b.dialect, e.conn)))
	b.client.Use(entid.Hook(e.source))
	dbtest.NoError(t, b.client.Schema.Create(t.Context()))
}

func (b *entBench[C, B, M, U, V, E, K]) table() string { return b.name }

func (b *entBench[C, B, M, U, V, E, K]) ways() []way {
	bulk := func(ctx context.Context, items []item) ([]item, error) { return b.bulk(ctx, b.client, items) }
	return []way{
		{one, "`Create().Save(ctx)`", func(ctx context.Context, items []item) (memory []item, err error) {
			for _, builder := range b.builders(b.client, items) {
				row, err := builder.Save(ctx)
				if err != nil {
					return memory, err
				}
				memory = append(memory, itemsOf([]E{row})...)
			}
			return memory, nil
		}},
		{slice, "`CreateBulk(…).Save(ctx)`", bulk},
		{slice, "`CreateBulk(…).Save(entid.Reserve(ctx, n))`", func(ctx context.Context, items []item) ([]item, error) {
			return bulk(entid.Reserve(ctx, len(items)), items)
		}},
		{slice, "`MapCreateBulk(…).Save(ctx)`", func(ctx context.Context, items []item) ([]item, error) {
			rows, err := b.entityOf(b.client).MapCreateBulk(items, func(builder B, i int) { b.set(builder, items[i]) }).Save(ctx)
			return itemsOf(rows), err
		}},
		{graph, "`CreateBulk(…)` with `AddPartIDs(…)`", b.graph},
		{upsert, "`Create().OnConflictColumns(…).UpdateNewValues()`, `ID(ctx)`; on MySQL and MariaDB `Exec(ctx)`", b.upserts(U.UpdateNewValues)},
		{upsert, "`CreateBulk(…).OnConflictColumns(…).UpdateNewValues().Exec(ctx)`", b.bulkUpsert(V.UpdateNewValues)},
		{ignore, "`Create().OnConflictColumns(…).Ignore()`, `ID(ctx)`; on MySQL and MariaDB `Exec(ctx)`", b.upserts(U.Ignore)},
		{ignore, "`CreateBulk(…).OnConflictColumns(…).Ignore().Exec(ctx)`", b.bulkUpsert(V.Ignore)},
		{preset, "`CreateBulk(…)` with `SetID(…)`", bulk},
		{rollback, "`Tx`, `CreateBulk(…)`", func(ctx context.Context, items []item) ([]item, error) {
			tx, err := b.client.Tx(ctx)
			if err != nil {
				return nil, err
			}
			memory, err := b.bulk(ctx, tx.Client(), items)
			if err != nil {
				return nil, err
			}
			return memory, tx.Rollback()
		}},
		{failure, "`CreateBulk(…).Save(ctx)`", bulk},
	}
}

func (b *entBench[C, B, M, U, V, E, K]) set(builder B, i item) {
	builder.SetName(i.name).SetN(i.n)
	if i.key != 0 {
		builder.SetID(keyOf[K](i.key))
	}
}

func (b *entBench[C, B, M, U, V, E, K]) builders(c *ent.Client, items []item) []B {
	builders := make([]B, len(items))
	for i := range items {
		builders[i] = b.entityOf(c).Create()
		b.set(builders[i], items[i])
	}
	return builders
}

func (b *entBench[C, B, M, U, V, E, K]) bulk(ctx context.Context, c *ent.Client, items []item) ([]item, error) {
	rows, err := b.entityOf(c).CreateBulk(b.builders(c, items)...).Save(ctx)
	return itemsOf(rows), err
}

// graph creates children first, and then their parents with edges to them.
func (b *entBench[C, B, M, U, V, E, K]) graph(ctx context.Context, items []item) ([]item, error) {
	var parents, children []item
	for _, i := range items {
		if i.parent == "" {
			parents = append(parents, i)
		} else {
			children = append(children, i)
		}
	}
	memory, err := b.bulk(ctx, b.client, children)
	if err != nil {
		return memory, err
	}
	builders := b.builders(b.client, parents)
	for i, child := range children {
		for j, parent := range parents {
			if child.parent == parent.name {
				builders[j].AddPartIDs(keyOf[K](memory[i].key))
			}
		}
	}
	created, err := b.entityOf(b.client).CreateBulk(builders...).Save(ctx)
	return append(memory, itemsOf(created)...), err
}

// upserts creates one row at a time. On MySQL, ent doesn't support ID here, and there
// is no other way to get the key of the row.
func (b *entBench[C, B, M, U, V, E, K]) upserts(resolve func(U) U) create {
	return func(ctx context.Context, items []item) (memory []item, err error) {
		for i, builder := range b.builders(b.client, items) {
			upsert := resolve(builder.OnConflictColumns("name"))
			if b.dialect == dialect.MySQL {
				if err := upsert.Exec(ctx); err != nil {
					return nil, err
				}
				continue
			}
			id, err := upsert.ID(ctx)
			if err != nil {
				return memory, err
			}
			memory = append(memory, item{name: items[i].name, key: numberOf(id), n: items[i].n})
		}
		return memory, nil
	}
}

func (b *entBench[C, B, M, U, V, E, K]) bulkUpsert(resolve func(V) V) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		bulk := b.entityOf(b.client).CreateBulk(b.builders(b.client, items)...)
		return nil, resolve(bulk.OnConflictColumns("name")).Exec(ctx)
	}
}
