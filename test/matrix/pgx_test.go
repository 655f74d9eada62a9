package matrix

import (
	"cmp"
	"context"
	"errors"
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
	type (
		row  = *plainItem[K]
		list = *[]plainItem[K]
	)
	copyRows := rows(func(ctx context.Context, ms list) error { return b.copy(ctx, b.conn, pointersTo(*ms)) })
	return []way{
		{one, "`sqlid.Fill(ctx, &row)`, `Exec`", b.each(func(ctx context.Context, m row) error {
			return exec(b.conn.Exec(ctx, insertSQL("postgres", 1), m.args()...))
		})},
		{slice, "`pgxid.CopyFrom` with `&rows[i].ID`", copyRows},
		{slice, "`sqlid.Fill(ctx, rows)`, INSERT … SELECT unnest($1), unnest($2)", rows(b.unnest)},
		{pointers, "`pgxid.CopyFrom` with `&row.ID`, rows being pointers", copyRows},
		{batches, "`sqlid.Fill(ctx, rows)`, a `pgx.Batch` for every two", inBatches(b.filler, b.send)},
		{graph, "`sqlid.Fill(ctx, rows)`, foreign keys set, one `pgx.Batch`", plainGraph(b.filler, b.send)},
		{upsert, "`sqlid.Fill(ctx, &row)`, INSERT … DO UPDATE … RETURNING id", b.each(func(ctx context.Context, m row) error {
			return b.conn.QueryRow(ctx, insertSQL("postgres", 1)+" ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n RETURNING id", m.args()...).Scan(&m.ID)
		})},
		{ignore, "`sqlid.Fill(ctx, &row)`, INSERT … DO NOTHING RETURNING id; no row, no key", b.each(func(ctx context.Context, m row) error {
			err := b.conn.QueryRow(ctx, insertSQL("postgres", 1)+" ON CONFLICT DO NOTHING RETURNING id", m.args()...).Scan(&m.ID)
			if errors.Is(err, pgx.ErrNoRows) {
				m.ID = keyOf[K](0)
				return nil
			}
			return err
		})},
		{raw, "`pgxid.CopyFrom` with keys by value", func(ctx context.Context, items []item) ([]item, error) {
			rows := make([][]any, len(items))
			for i, want := range items {
				rows[i] = []any{keyOf[K](want.key), want.name, want.n}
			}
			_, err := b.copier.CopyFrom(ctx, b.conn, pgx.Identifier{"items"}, []string{"id", "name", "n"}, pgx.CopyFromRows(rows))
			return nil, err
		}},
		{preset, "`pgxid.CopyFrom` with `&rows[i].ID`", copyRows},
		{rollback, "`pgxid.CopyFrom` into a `pgx.Tx`", rows(func(ctx context.Context, ms list) error {
			return rolledBack(pgx.BeginFunc(ctx, b.conn, func(tx pgx.Tx) error {
				return cmp.Or(b.copy(ctx, tx, pointersTo(*ms)), errRollBack)
			}))
		})},
		{failure, "`pgxid.CopyFrom` with `&rows[i].ID`", copyRows},
	}
}

// each is a way that uses one struct at a time, whose key has already been filled in.
func (b *pgxBench[K]) each(create func(ctx context.Context, m *plainItem[K]) error) create {
	return each(func(ctx context.Context, m *plainItem[K]) error {
		if err := b.filler.Fill(ctx, m); err != nil {
			return err
		}
		return create(ctx, m)
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
func (b *pgxBench[K]) unnest(ctx context.Context, ms *[]plainItem[K]) error {
	if err := b.filler.Fill(ctx, ms); err != nil {
		return err
	}
	var ids []K
	var names []string
	for _, m := range *ms {
		ids, names = append(ids, m.ID), append(names, m.Name)
	}
	return exec(b.conn.Exec(ctx, "INSERT INTO items (id, name, n) SELECT unnest($1::"+b.column+"[]), unnest($2::text[]), $3", ids, names, (*ms)[0].N))
}
