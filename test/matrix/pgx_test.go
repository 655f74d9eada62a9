package matrix

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/matrix/keys"
)

// pgx sends everything as is. If rows aren't copied, they are filled in by package
// sqlid, which doesn't need a driver.
var pgxIntegration = integration{
	name: "pgx",
	only: "postgres",
	benches: map[keyType]bench{
		idKey:       &pgxBench[pk.ID]{},
		typedKey:    &pgxBench[keys.ItemID]{},
		prefixedKey: &pgxBench[keys.PrefixedItemID]{},
		publicKey:   &pgxBench[keys.PublicItemID]{},
		stringKey:   &pgxBench[pk.String]{},
		textKey:     &pgxBench[pk.Text]{},
		sortKey:     &pgxBench[pk.SortText]{},
		int64Key:    &pgxBench[int64]{},
	},
}

type pgxBench[K any] struct {
	conn   *pgx.Conn
	column string
	filler *sqlid.Filler
	copier pgxid.Copier
}

func (b *pgxBench[K]) open(t *testing.T, e env) {
	t.Helper()
	e.createItems(t)
	conn := dbtest.Must(pgx.Connect(t.Context(), e.db.DSN))(t)
	t.Cleanup(func() { conn.Close(context.Background()) })
	pgxid.Register(conn.TypeMap())
	*b = pgxBench[K]{conn, e.key.column(), sqlid.New(e.source), pgxid.Copier{Source: e.source}}
}

func (*pgxBench[K]) table() string { return "items" }

func (b *pgxBench[K]) ways() []way {
	type row = *plainItem[K]
	copyRows := b.rows(func(ctx context.Context, ms []plainItem[K]) error { return b.copy(ctx, b.conn, pointersTo(ms)) })
	return []way{
		{kind: one, call: "`sqlid.Fill(ctx, &row)`, `Exec`", create: b.each(func(ctx context.Context, m row) error {
			_, err := b.conn.Exec(ctx, insertSQL("postgres", 1), m.args()...)
			return err
		})},
		{kind: slice, call: "`pgxid.CopyFrom` with `&rows[i].ID`", create: copyRows},
		{kind: slice, call: "`sqlid.Fill(ctx, rows)`, INSERT … SELECT unnest($1), unnest($2)", create: b.rows(b.unnest)},
		{kind: pointers, call: "`pgxid.CopyFrom` with `&row.ID`, rows being pointers", create: copyRows},
		{kind: batches, call: "`sqlid.Fill(ctx, rows)`, a `pgx.Batch` for every two", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			if err := b.filler.Fill(ctx, ms); err != nil {
				return err
			}
			for batch := range slices.Chunk(ms, batchSize) {
				if err := b.send(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})},
		{kind: graph, call: "`sqlid.Fill(ctx, rows)`, foreign keys set, one `pgx.Batch`", create: func(ctx context.Context, items []item) ([]item, error) {
			ms, err := plainGraph[K](ctx, b.filler, items)
			if err == nil {
				err = b.send(ctx, ms)
			}
			return itemsOf(ms), err
		}},
		{kind: upsert, call: "`sqlid.Fill(ctx, &row)`, INSERT … DO UPDATE … RETURNING id", create: b.each(func(ctx context.Context, m row) error {
			return b.conn.QueryRow(ctx, insertSQL("postgres", 1)+" ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n RETURNING id", m.args()...).Scan(&m.ID)
		})},
		{kind: ignore, call: "`sqlid.Fill(ctx, &row)`, INSERT … DO NOTHING RETURNING id; no row, no key", create: b.each(func(ctx context.Context, m row) error {
			err := b.conn.QueryRow(ctx, insertSQL("postgres", 1)+" ON CONFLICT DO NOTHING RETURNING id", m.args()...).Scan(&m.ID)
			if errors.Is(err, pgx.ErrNoRows) {
				m.ID = keyOf[K](0)
				return nil
			}
			return err
		})},
		{kind: raw, call: "`pgxid.CopyFrom` with keys by value", create: func(ctx context.Context, items []item) ([]item, error) {
			rows := make([][]any, len(items))
			for i, want := range items {
				rows[i] = []any{keyOf[K](want.key), want.name, want.n}
			}
			_, err := b.copier.CopyFrom(ctx, b.conn, pgx.Identifier{"items"}, []string{"id", "name", "n"}, pgx.CopyFromRows(rows))
			return nil, err
		}},
		{kind: preset, call: "`pgxid.CopyFrom` with `&rows[i].ID`", create: copyRows},
		{kind: rollback, call: "`pgxid.CopyFrom` into a `pgx.Tx`", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			return rolledBack(pgx.BeginFunc(ctx, b.conn, func(tx pgx.Tx) error {
				if err := b.copy(ctx, tx, pointersTo(ms)); err != nil {
					return err
				}
				return errRollBack
			}))
		})},
		{kind: failure, call: "`pgxid.CopyFrom` with `&rows[i].ID`", create: copyRows},
	}
}

// rows is a way that uses structs.
func (b *pgxBench[K]) rows(create func(ctx context.Context, ms []plainItem[K]) error) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		ms := modelsOf[plainItem[K]](items)
		err := create(ctx, ms)
		return itemsOf(ms), err
	}
}

// each is a way that uses one struct at a time, whose key has already been filled in.
func (b *pgxBench[K]) each(create func(ctx context.Context, m *plainItem[K]) error) create {
	return b.rows(func(ctx context.Context, ms []plainItem[K]) error {
		for i := range ms {
			if err := b.filler.Fill(ctx, &ms[i]); err != nil {
				return err
			}
			if err := create(ctx, &ms[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *pgxBench[K]) copy(ctx context.Context, db pgxid.DB, ms []*plainItem[K]) error {
	_, err := b.copier.CopyFrom(ctx, db, pgx.Identifier{"items"}, []string{"id", "name", "n"},
		pgx.CopyFromSlice(len(ms), func(i int) ([]any, error) { return []any{&ms[i].ID, ms[i].Name, ms[i].N}, nil }))
	return err
}

// send inserts all rows using one batch, which is a single round trip.
func (b *pgxBench[K]) send(ctx context.Context, ms []plainItem[K]) error {
	batch := &pgx.Batch{}
	for i := range ms {
		batch.Queue(insertSQL("postgres", 1), ms[i].args()...)
	}
	return b.conn.SendBatch(ctx, batch).Close()
}

// unnest sends the keys of all rows in one list.
func (b *pgxBench[K]) unnest(ctx context.Context, ms []plainItem[K]) error {
	if err := b.filler.Fill(ctx, ms); err != nil {
		return err
	}
	var ids []K
	var names []string
	for _, m := range ms {
		ids, names = append(ids, m.ID), append(names, m.Name)
	}
	_, err := b.conn.Exec(ctx, "INSERT INTO items (id, name, n) SELECT unnest($1::"+b.column+"[]), unnest($2::text[]), $3", ids, names, ms[0].N)
	return err
}
