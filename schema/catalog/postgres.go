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
	c, counting, err := s.readPostgresCatalog(ctx, conn)
	if err != nil || !counters {
		return c, err
	}
	c.numbers, err = database.List(ctx, conn, s.query("numbers"), func(c *Column) []any { return c.dest(Postgres) })
	if err != nil {
		return nil, err
	}
	next, err := s.readSequences(ctx, conn, counting)
	if err != nil {
		return nil, err
	}
	for i, k := range counting {
		sequence := k.Counter.Sequence
		if sequence == (Name{}) {
			continue
		}
		c.keys[i].Counter.next = next[sequence]
		if next[sequence] == nil {
			c.unseen = append(c.unseen, Finding{
				Kind: Unseen, Severity: Warning,
				Text:   fmt.Sprintf("this role may not read %s, which numbers %s, so that its counter is not known", s.name(sequence), s.column(k.Column)),
				Remedy: fmt.Sprintf("GRANT USAGE ON SCHEMA %s and SELECT ON SEQUENCE %s to it, or inspect as their owner", s.Quote(sequence.Schema), s.name(sequence)),
			})
		}
	}
	return c, nil
}

// readPostgresCatalog reads the catalog without the current values of the counters. It
// also returns the rows of the query for keys, in the order of the catalog's keys.
func (s server) readPostgresCatalog(ctx context.Context, conn *sql.Conn) (*catalog, []postgresKey, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("catalog: %w", err)
	}
	defer tx.Rollback()
	c := &catalog{foldTable: exact, foldColumn: exact}
	var counting []postgresKey
	var primary []Column
	err = database.ReadAll(ctx, tx,
		database.Into(&c.schemas, s.query("schemas"), database.Text),
		database.Into(&counting, s.query("keys"), (*postgresKey).dest),
		database.Into(&primary, s.query("primary keys"), (*Column).path),
		database.Into(&c.links, s.query("foreign keys"), linkDest(Postgres)),
		database.Into(&c.inherits, s.query("inheritance"), func(i *inheritance) []any {
			return []any{&i.child.Schema, &i.child.Name, &i.parent.Schema, &i.parent.Name}
		}),
		database.Into(&c.uses, s.Query(database.Queries, "uses"), func(u *use) []any {
			return []any{&u.table.Schema, &u.table.Name, &u.column, &u.view.Schema, &u.view.Name, &u.dependent}
		}),
		database.Into(&c.triggers, s.query("triggers"), (*Trigger).dest),
	)
	if err != nil {
		return nil, nil, err
	}
	if err := tx.Rollback(); err != nil {
		return nil, nil, fmt.Errorf("catalog: %w", err)
	}
	c.inspected, c.primary = c.schemas, byTable(primary)
	for _, k := range counting {
		c.keys = append(c.keys, k.key(c.primary))
	}
	return c, counting, nil
}

// A postgresKey is a row of the query for keys.
type postgresKey struct {
	Key
	top     sql.Null[int64] // the last number of the sequence
	mayRead bool
	owner   Column // the column that owns the sequence
}

func (k *postgresKey) dest() []any {
	return slices.Concat(k.Column.dest(Postgres), []any{(*string)(&k.Mechanism), &k.Default, &k.Partitioned,
		&k.Counter.Sequence.Schema, &k.Counter.Sequence.Name, &k.top, &k.Counter.Step, &k.mayRead}, k.owner.path())
}

// key returns the Key of a row, except for the current value of its counter.
func (k postgresKey) key(primaryKeys map[Name][]string) Key {
	key := k.Key
	key.PrimaryKey = primaryKeys[key.Column.Table]
	if k.owner.Name != "" {
		key.Counter.owner = &k.owner
	}
	if key.Mechanism == Serial && !k.owner.same(key.Column) {
		key.Mechanism = SequenceDefault
	}
	if k.top.Valid {
		key.Counter.top = big.NewInt(k.top.V)
	}
	return key
}

// readSequences returns the next number of each sequence that the role may read. We
// read at most 500 sequences per statement, because the statement locks each of them,
// and the number of locks that a transaction can hold is limited.
func (s server) readSequences(ctx context.Context, conn *sql.Conn, keys []postgresKey) (map[Name]*big.Int, error) {
	const most = 500
	next := make(map[Name]*big.Int)
	steps := make(map[Name]int64)
	var names []Name
	for _, k := range keys {
		if _, seen := steps[k.Counter.Sequence]; k.mayRead && !seen {
			steps[k.Counter.Sequence] = k.Counter.Step
			names = append(names, k.Counter.Sequence)
		}
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
			return nil, err
		}
		for _, state := range states {
			n := big.NewInt(state.last)
			if state.called {
				n.Add(n, big.NewInt(steps[part[state.i]]))
			}
			next[part[state.i]] = n
		}
	}
	return next, nil
}
