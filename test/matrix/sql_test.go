package matrix

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/matrix/keys"
)

var sqlIntegration = integration{
	name: "database/sql",
	benches: map[keyType]bench{
		idKey:       &sqlBench[pk.ID]{},
		typedKey:    &sqlBench[keys.ItemID]{},
		prefixedKey: &sqlBench[keys.PrefixedItemID]{},
		publicKey:   &sqlBench[keys.PublicItemID]{},
		stringKey:   &sqlBench[pk.String]{},
		textKey:     &sqlBench[pk.Text]{},
		sortKey:     &sqlBench[pk.SortText]{},
		int64Key:    &sqlBench[int64]{},
	},
}

// A plainItem is a struct of a program that writes its own SQL.
type plainItem[K any] struct {
	ID K `snowkey:""`
	Cells
	ParentID *K
}

// args returns the arguments for an INSERT.
func (m *plainItem[K]) args() []any { return []any{m.ID, m.Name, m.N, m.ParentID} }

// plainGraph is a way that fills in the keys of parents and children without a database, and
// sets the children's foreign keys.
func plainGraph[K any](f *sqlid.Filler, insert func(ctx context.Context, ms []plainItem[K]) error) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		ms := modelsOf[plainItem[K]](items)
		if err := f.Fill(ctx, ms); err != nil {
			return itemsOf(ms), err
		}
		parents := make(map[string]*K)
		for i := range ms {
			parents[ms[i].Name] = &ms[i].ID
			if parent := items[i].parent; parent != "" {
				ms[i].ParentID = parents[parent]
			}
		}
		return itemsOf(ms), insert(ctx, ms)
	}
}

// inBatches is a way that fills in all keys, and then inserts two rows at a time.
func inBatches[K any](f *sqlid.Filler, insert func(ctx context.Context, ms []plainItem[K]) error) create {
	return rows(func(ctx context.Context, ms *[]plainItem[K]) error {
		if err := f.Fill(ctx, ms); err != nil {
			return err
		}
		for batch := range slices.Chunk(*ms, batchSize) {
			if err := insert(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

type sqlBench[K any] struct {
	db      *sql.DB
	dialect string
	filler  *sqlid.Filler
}

func (b *sqlBench[K]) open(t *testing.T, e env) {
	t.Helper()
	e.createItems(t)
	b.db, b.dialect, b.filler = e.conn, e.db.Dialect, sqlid.New(e.source)
}

func (*sqlBench[K]) table() string { return "items" }

func (b *sqlBench[K]) ways() []way {
	type list = *[]plainItem[K]
	insert := func(ctx context.Context, ms []plainItem[K]) error { return b.insert(ctx, b.db, ms) }
	all := rows(func(ctx context.Context, ms list) error {
		if err := b.filler.Fill(ctx, ms); err != nil {
			return err
		}
		return insert(ctx, *ms)
	})
	return []way{
		{one, "`Fill(ctx, &row)`, INSERT", each(func(ctx context.Context, m *plainItem[K]) error {
			if err := b.filler.Fill(ctx, m); err != nil {
				return err
			}
			return insert(ctx, []plainItem[K]{*m})
		})},
		{slice, "`Fill(ctx, rows)`, INSERT of all", all},
		{pointers, "`Fill(ctx, []*Row{…})`, INSERT of all", rows(func(ctx context.Context, ms list) error {
			if err := b.filler.Fill(ctx, pointersTo(*ms)); err != nil {
				return err
			}
			return insert(ctx, *ms)
		})},
		{batches, "`Fill(ctx, rows)`, INSERT of two at a time", inBatches(b.filler, insert)},
		{graph, "`Fill(ctx, rows)`, foreign keys set, INSERT of all", plainGraph(b.filler, insert)},
		{upsert, "`Fill`, INSERT … ON CONFLICT/DUPLICATE KEY, then SELECT of the id", rows(func(ctx context.Context, ms list) error {
			return b.merge(ctx, *ms, " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n", " ON DUPLICATE KEY UPDATE n = VALUES(n)")
		})},
		{ignore, "`Fill`, INSERT … that does nothing, then SELECT of the id", rows(func(ctx context.Context, ms list) error {
			return b.merge(ctx, *ms, " ON CONFLICT DO NOTHING", " ON DUPLICATE KEY UPDATE id = id")
		})},
		{raw, "`Fill(ctx, map[string]any{…})`", func(ctx context.Context, items []item) ([]item, error) {
			return nil, b.filler.Fill(ctx, map[string]any{"name": items[0].name, "n": items[0].n})
		}},
		{preset, "`Fill(ctx, rows)`, INSERT of all", all},
		{rollback, "`Fill(ctx, rows)`, INSERT in a `*sql.Tx`", rows(func(ctx context.Context, ms list) error {
			tx, err := b.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := b.filler.Fill(ctx, ms); err != nil {
				return err
			}
			if err := b.insert(ctx, tx, *ms); err != nil {
				return err
			}
			return tx.Rollback()
		})},
		{failure, "`Fill(ctx, rows)`, INSERT of all", all},
	}
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (b *sqlBench[K]) insert(ctx context.Context, db execer, ms []plainItem[K], suffix ...string) error {
	var args []any
	for i := range ms {
		args = append(args, ms[i].args()...)
	}
	return exec(db.ExecContext(ctx, insertSQL(b.dialect, len(ms))+strings.Join(suffix, ""), args...))
}

// merge inserts rows, some of which already exist, and reads back all keys.
func (b *sqlBench[K]) merge(ctx context.Context, ms []plainItem[K], onConflict, onDuplicate string) error {
	if err := b.filler.Fill(ctx, ms); err != nil {
		return err
	}
	suffix := onConflict
	if b.dialect == "mysql" {
		suffix = onDuplicate
	}
	if err := b.insert(ctx, b.db, ms, suffix); err != nil {
		return err
	}
	query := "SELECT id FROM items WHERE name = ?"
	if b.dialect == "postgres" {
		query = "SELECT id FROM items WHERE name = $1"
	}
	for i := range ms {
		if err := b.db.QueryRowContext(ctx, query, ms[i].Name).Scan(&ms[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// insertSQL returns an INSERT for n rows, to be used with plainItem.args.
func insertSQL(dialect string, n int) string {
	var q strings.Builder
	q.WriteString("INSERT INTO items (id, name, n, parent_id) VALUES ")
	for i := range n {
		if i > 0 {
			q.WriteString(", ")
		}
		if dialect == "postgres" {
			fmt.Fprintf(&q, "($%d, $%d, $%d, $%d)", 4*i+1, 4*i+2, 4*i+3, 4*i+4)
		} else {
			q.WriteString("(?, ?, ?, ?)")
		}
	}
	return q.String()
}
