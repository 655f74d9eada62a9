package catalog

import (
	"context"
	"database/sql"
	_ "embed" // for the queries
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

//go:embed postgres_keys.sql
var postgresKeys string

//go:embed postgres_links.sql
var postgresLinks string

//go:embed postgres_triggers.sql
var postgresTriggers string

const (
	postgresSchemas = `SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname`

	postgresInherits = `SELECT cn.nspname, c.relname, pn.nspname, p.relname
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
WHERE c.relkind IN ('r', 'p', 'f')
ORDER BY i.inhseqno, cn.nspname, c.relname`

	postgresPrimary = `SELECT n.nspname, c.relname, a.attname
FROM pg_index x
JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_'
CROSS JOIN LATERAL generate_series(0, x.indnkeyatts - 1) AS i
JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[i]
WHERE x.indisprimary
ORDER BY n.nspname, c.relname, i`
)

// readPostgres reads the catalog in one snapshot. The counters have to be read
// separately, because sequences aren't part of a snapshot.
func (s server) readPostgres(ctx context.Context, conn *sql.Conn, _ []string) (*catalog, error) {
	c, counting, err := s.readPostgresCatalog(ctx, conn)
	if err != nil {
		return nil, err
	}
	c.numbers, err = database.List(ctx, conn, postgresNumbers, func(c *Column) []any { return append(c.path(), &c.Type, typed(Postgres, c)) })
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
	if c.schemas, err = database.List(ctx, tx, postgresSchemas, database.Text); err != nil {
		return nil, nil, err
	}
	c.inspected = c.schemas
	counting, err := database.List(ctx, tx, postgresKeys, (*postgresKey).dest)
	if err != nil {
		return nil, nil, err
	}
	primary, err := database.List(ctx, tx, postgresPrimary, (*Column).path)
	if err != nil {
		return nil, nil, err
	}
	if c.links, err = database.List(ctx, tx, postgresLinks, postgresLink); err != nil {
		return nil, nil, err
	}
	c.inherits, err = database.List(ctx, tx, postgresInherits, func(i *inheritance) []any {
		return []any{&i.child.Schema, &i.child.Name, &i.parent.Schema, &i.parent.Name}
	})
	if err != nil {
		return nil, nil, err
	}
	c.uses, err = database.List(ctx, tx, database.PostgresUses, func(u *use) []any {
		u.columns = []string{""}
		return []any{&u.table.Schema, &u.table.Name, &u.columns[0], &u.view.Name.Schema, &u.view.Name.Name, &u.view.Materialized, &u.dependent}
	})
	if err != nil {
		return nil, nil, err
	}
	if c.triggers, err = database.List(ctx, tx, postgresTriggers, (*Trigger).dest); err != nil {
		return nil, nil, err
	}
	if err := tx.Rollback(); err != nil {
		return nil, nil, fmt.Errorf("catalog: %w", err)
	}
	c.primary = byTable(primary)
	for _, k := range counting {
		c.keys = append(c.keys, k.key(c.primary))
	}
	return c, counting, nil
}

// A postgresKey is a row of the query for keys.
type postgresKey struct {
	Key
	start, top sql.Null[int64] // the first and the last number of the sequence
	mayRead    bool
	owner      Column // the column that owns the sequence
}

func (k *postgresKey) dest() []any {
	return slices.Concat(k.Column.path(), []any{&k.Column.Type, typed(Postgres, &k.Column),
		(*string)(&k.Mechanism), &k.Default, &k.Partitioned,
		&k.Counter.Sequence.Schema, &k.Counter.Sequence.Name, &k.start, &k.top, &k.Counter.Step, &k.mayRead}, k.owner.path())
}

func (c *Column) path() []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

func (t *Trigger) dest() []any { return []any{&t.Table.Schema, &t.Table.Name, &t.Name, &t.When} }

func postgresLink(l *link) []any {
	return slices.Concat([]any{&l.constraint, &l.Name},
		l.Child.path(), []any{&l.Child.Type, typed(Postgres, &l.Child)},
		l.Parent.path(), []any{&l.Parent.Type, typed(Postgres, &l.Parent)},
		[]any{&l.Indexed})
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
		key.Counter.start, key.Counter.top = newNumber(k.start.V), newNumber(k.top.V)
	}
	return key
}

// readSequences returns the next number of each sequence that the role may read. We
// read at most 500 sequences per statement, because the statement locks each of them,
// and the number of locks that a transaction can hold is limited.
func (s server) readSequences(ctx context.Context, conn *sql.Conn, keys []postgresKey) (map[Name]*number, error) {
	const most = 500
	next := make(map[Name]*number)
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
			n := newNumber(state.last)
			if state.called {
				n.Add(&n.Int, &newNumber(steps[part[state.i]]).Int)
			}
			next[part[state.i]] = n
		}
	}
	return next, nil
}
