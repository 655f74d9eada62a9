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

func (m *plainItem[K]) set(i item) { m.ID, m.Cells = keyOf[K](i.key), Cells{i.name, i.n} }
func (m *plainItem[K]) get() item  { return item{name: m.Name, key: numberOf(m.ID), n: m.N} }

// args returns the arguments for an INSERT.
func (m *plainItem[K]) args() []any { return []any{m.ID, m.Name, m.N, m.ParentID} }

// plainGraph fills in the keys of parents and children, and sets the children's foreign
// keys. It does so without a database.
func plainGraph[K any](ctx context.Context, f *sqlid.Filler, items []item) ([]plainItem[K], error) {
	ms := modelsOf[plainItem[K]](items)
	if err := f.Fill(ctx, ms); err != nil {
		return ms, err
	}
	parents := make(map[string]*K)
	for i := range ms {
		parents[ms[i].Name] = &ms[i].ID
		if parent := items[i].parent; parent != "" {
			ms[i].ParentID = parents[parent]
		}
	}
	return ms, nil
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
	insert := b.rows(func(ctx context.Context, ms []plainItem[K]) error {
		if err := b.filler.Fill(ctx, ms); err != nil {
			return err
		}
		return b.insert(ctx, b.db, ms)
	})
	return []way{
		{kind: one, call: "`Fill(ctx, &row)`, INSERT", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			for i := range ms {
				if err := b.filler.Fill(ctx, &ms[i]); err != nil {
					return err
				}
				if err := b.insert(ctx, b.db, ms[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		})},
		{kind: slice, call: "`Fill(ctx, rows)`, INSERT of all", create: insert},
		{kind: pointers, call: "`Fill(ctx, []*Row{…})`, INSERT of all", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			if err := b.filler.Fill(ctx, pointersTo(ms)); err != nil {
				return err
			}
			return b.insert(ctx, b.db, ms)
		})},
		{kind: batches, call: "`Fill(ctx, rows)`, INSERT of two at a time", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			if err := b.filler.Fill(ctx, ms); err != nil {
				return err
			}
			for batch := range slices.Chunk(ms, batchSize) {
				if err := b.insert(ctx, b.db, batch); err != nil {
					return err
				}
			}
			return nil
		})},
		{kind: graph, call: "`Fill(ctx, rows)`, foreign keys set, INSERT of all", create: func(ctx context.Context, items []item) ([]item, error) {
			ms, err := plainGraph[K](ctx, b.filler, items)
			if err == nil {
				err = b.insert(ctx, b.db, ms)
			}
			return itemsOf(ms), err
		}},
		{kind: upsert, call: "`Fill`, INSERT … ON CONFLICT/DUPLICATE KEY, then SELECT of the id", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			return b.merge(ctx, ms, " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n", " ON DUPLICATE KEY UPDATE n = VALUES(n)")
		})},
		{kind: ignore, call: "`Fill`, INSERT … that does nothing, then SELECT of the id", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			return b.merge(ctx, ms, " ON CONFLICT DO NOTHING", " ON DUPLICATE KEY UPDATE id = id")
		})},
		{kind: raw, call: "`Fill(ctx, map[string]any{…})`", create: func(ctx context.Context, items []item) ([]item, error) {
			m := map[string]any{"name": items[0].name, "n": items[0].n}
			return nil, b.filler.Fill(ctx, m)
		}},
		{kind: preset, call: "`Fill(ctx, rows)`, INSERT of all", create: insert},
		{kind: rollback, call: "`Fill(ctx, rows)`, INSERT in a `*sql.Tx`", create: b.rows(func(ctx context.Context, ms []plainItem[K]) error {
			tx, err := b.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := b.filler.Fill(ctx, ms); err != nil {
				return err
			}
			if err := b.insert(ctx, tx, ms); err != nil {
				return err
			}
			return tx.Rollback()
		})},
		{kind: failure, call: "`Fill(ctx, rows)`, INSERT of all", create: insert},
	}
}

// rows is a way that uses structs.
func (b *sqlBench[K]) rows(create func(ctx context.Context, ms []plainItem[K]) error) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		ms := modelsOf[plainItem[K]](items)
		err := create(ctx, ms)
		return itemsOf(ms), err
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
	_, err := db.ExecContext(ctx, insertSQL(b.dialect, len(ms))+strings.Join(suffix, ""), args...)
	return err
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
