package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// readPostgres reads the catalog in one snapshot. The counters have to be read
// separately, because sequences aren't part of a snapshot.
func (s server) readPostgres(ctx context.Context, conn *sql.Conn, counters bool) (*catalog, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	defer tx.Rollback()
	c := &catalog{foldTable: exact, foldColumn: exact}
	var primary []Column
	reads := []database.Read{
		database.Into(&c.schemas, s.query("schemas"), database.Text),
		database.Into(&c.keys, s.query("keys"), (*Key).dest),
		database.Into(&primary, s.query("primary keys"), (*Column).path),
		database.Into(&c.links, s.query("foreign keys"), linkDest(Postgres)),
		database.Into(&c.inherits, s.query("inheritance"), func(i *inheritance) []any {
			return []any{&i.child.Schema, &i.child.Name, &i.parent.Schema, &i.parent.Name}
		}),
		database.Into(&c.uses, s.Query(database.Queries, "uses"), func(u *use) []any {
			return []any{&u.table.Schema, &u.table.Name, &u.column, &u.view.Schema, &u.view.Name, &u.dependent}
		}),
		database.Into(&c.triggers, s.query("triggers"), (*Trigger).dest),
	}
	if counters {
		reads = append(reads, database.Into(&c.columns, s.query("columns"), func(c *Column) []any { return c.dest(Postgres) }))
	}
	if err := database.ReadAll(ctx, tx, reads...); err != nil {
		return nil, err
	}
	if err := tx.Rollback(); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	c.inspected, c.primary = c.schemas, byTable(primary)
	for i := range c.keys {
		k := &c.keys[i]
		k.PrimaryKey = c.primary[k.Column.Table]
		if k.Mechanism == Serial && !k.Counter.owner.same(k.Column) {
			k.Mechanism = SequenceDefault
		}
	}
	if !counters {
		return c, nil
	}
	return c, s.readSequences(ctx, conn, c)
}

// dest is for a row of the query for keys.
func (k *Key) dest() []any {
	c := &k.Counter
	return slices.Concat(k.Column.dest(Postgres), []any{(*string)(&k.Mechanism), &k.Default, &k.Partitioned,
		&c.Sequence.Schema, &c.Sequence.Name, database.ScanInt(&c.top), &c.Step, &c.mayRead}, c.owner.path())
}

// readSequences reads the next number of each sequence that the role may read. We
// read at most 500 sequences per statement, because the statement locks each of them,
// and the number of locks that a transaction can hold is limited.
func (s server) readSequences(ctx context.Context, conn *sql.Conn, c *catalog) error {
	const most = 500
	counting := make(map[Name][]*Key)
	var names []Name
	for i := range c.keys {
		k := &c.keys[i]
		sequence := k.Counter.Sequence
		switch {
		case sequence == Name{}:
			continue
		case !k.Counter.mayRead:
			c.unseen = append(c.unseen, Finding{
				Kind: Unseen, Severity: Warning,
				Text:   fmt.Sprintf("this role may not read %s, which numbers %s, so that its counter is not known", s.name(sequence), s.column(k.Column)),
				Remedy: fmt.Sprintf("GRANT USAGE ON SCHEMA %s and SELECT ON SEQUENCE %s to it, or inspect as their owner", s.Quote(sequence.Schema), s.name(sequence)),
			})
			continue
		case counting[sequence] == nil:
			names = append(names, sequence)
		}
		counting[sequence] = append(counting[sequence], k)
	}
	for part := range slices.Chunk(names, most) {
		var selects []string
		for i, name := range part {
			selects = append(selects, fmt.Sprintf("SELECT %d, last_value, is_called FROM %s", i, s.name(name)))
		}
		type state struct {
			i      int
			last   int64
			called bool
		}
		states, err := database.List(ctx, conn, strings.Join(selects, "\nUNION ALL "), func(s *state) []any { return []any{&s.i, &s.last, &s.called} })
		if err != nil {
			return err
		}
		for _, state := range states {
			for _, k := range counting[part[state.i]] {
				k.Counter.next = big.NewInt(state.last)
				if state.called {
					k.Counter.next.Add(k.Counter.next, big.NewInt(k.Counter.Step))
				}
			}
		}
	}
	return nil
}
