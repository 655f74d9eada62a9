package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// read reads the catalog, without the current values of counters. wanted has the schemas that
// the caller chose, if any.
//
// On Postgres, everything else comes from one snapshot, which sequences aren't part of.
// On MySQL there's no point in a transaction, because the information schema doesn't take
// part in one. On SQLite we read each database separately, because its objects can't refer
// to those of another.
func (s server) read(ctx context.Context, conn *sql.Conn, wanted []string) (*catalog, error) {
	c := &catalog{server: s, conn: conn, inspected: wanted, primary: make(map[Name][]string), known: make(map[Column]Column)}
	q, end := database.Querier(conn), func() error { return nil }
	switch s.Dialect {
	case Postgres:
		tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
		if err != nil {
			return nil, fmt.Errorf("catalog: %w", err)
		}
		defer tx.Rollback()
		q, end = tx, tx.Rollback
	case MySQL: // whose information schema may otherwise return counters of yesterday
		restore, err := s.Set(ctx, conn, [2]string{"information_schema_stats_expiry", "0"})
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	var current []string // the schema of the connection, or each schema
	_, err := database.List(ctx, q, s.query("schemas"), func(*struct{}) []any {
		c.schemas, current = append(c.schemas, ""), append(current, "")
		return []any{&c.schemas[len(c.schemas)-1], &current[len(current)-1], &c.foldsTables}
	})
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		c.inspected = slices.Compact(current)
	}
	parts := []string{""}
	if s.Dialect == SQLite {
		parts = c.schemas
	}
	var links, rules []link
	var primary []Column
	var tables []Key
	var grants []string
	for _, part := range parts {
		query := func(name string) string {
			return strings.NewReplacer("{schema}", s.Quote(part), "{name}", s.Literal(part), "{inspected}", s.Literals(c.inspected)).Replace(s.query(name))
		}
		err := cmp.Or(
			database.Into(ctx, q, &c.columns, query("columns"), func(t *tableColumn) []any {
				return append(t.dest(s.Dialect), (*string)(&t.mechanism), &t.fallback, &t.computed, &t.kind, &t.root.Schema, &t.root.Name)
			}),
			database.Into(ctx, q, &c.keys, query("keys"), (*Key).dest), // on the other servers, they are among the columns
			database.Into(ctx, q, &primary, query("primary keys"), (*Column).path),
			database.Into(ctx, q, &links, query("foreign keys"), (*link).dest),
			database.Into(ctx, q, &rules, query("rules"), func(l *link) []any { return []any{&l.constraint, &l.OnUpdate, &l.OnDelete, &l.Valid} }),
			database.Into(ctx, q, &c.uses, s.Query(database.Queries, "uses"), func(u *use) []any {
				return []any{&u.table.Schema, &u.table.Name, &u.column, &u.view.Schema, &u.view.Name, &u.dependent}
			}),
			database.Into(ctx, q, &c.triggers, query("triggers"), (*Trigger).dest),
			database.Into(ctx, q, &tables, query("tables"), func(k *Key) []any {
				return []any{&k.Column.Table.Schema, &k.Column.Table.Name, database.ScanInt(&k.Counter.next), &k.Counter.Step, &k.Partitioned}
			}),
			database.Into(ctx, q, &grants, query("grants"), database.Text),
		)
		if err != nil {
			return nil, err
		}
	}
	if err := end(); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	for _, column := range primary {
		c.primary[column.Table] = append(c.primary[column.Table], column.Name)
	}
	for _, t := range c.columns {
		c.known[c.fold(t.Column)] = t.Column
		if t.mechanism != "" {
			c.keys = append(c.keys, Key{Column: t.Column, Mechanism: t.mechanism, Default: t.fallback})
		}
	}
	c.join(links, rules)
	if s.IsMySQL() {
		if err := c.joinMySQL(ctx, tables, grants); err != nil {
			return nil, err
		}
	}
	for i := range c.keys {
		k := &c.keys[i]
		k.Column = c.find(k.Column)
		k.PrimaryKey = c.primary[k.Column.Table]
		switch {
		case k.Mechanism == Serial && !k.Counter.owner.same(k.Column):
			k.Mechanism = SequenceDefault
		case k.Mechanism == Rowid: // and its default is the statement that created the table
			if slices.ContainsFunc(ddl.Tokens(k.Default, false), func(t ddl.Token) bool { return t.Is("AUTOINCREMENT") }) {
				k.Mechanism = Autoincrement
			}
			k.Default, k.Counter = "", Counter{Step: 1, top: big.NewInt(math.MaxInt64)}
		}
	}
	return c, nil
}

// These are destinations for the columns of a query, see [database.List].

func (c *Column) path() []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

// dest is for a column with its type, and for the type again, which is that below a domain.
func (c *Column) dest(d Dialect) []any {
	return append(c.path(), &c.Type, database.ScanType(d, &c.Bits, &c.Unsigned, &c.Text))
}

func (t *Trigger) dest() []any { return []any{&t.Table.Schema, &t.Table.Name, &t.Name, &t.When} }

func (l *link) dest() []any {
	return slices.Concat([]any{&l.constraint, &l.Name}, l.child.path(), l.parent.path(), []any{&l.OnUpdate, &l.OnDelete, &l.Match, &l.Detail, &l.Valid})
}

func (k *Key) dest() []any {
	c := &k.Counter
	return slices.Concat(k.Column.path(), []any{(*string)(&k.Mechanism), &k.Default, &k.Partitioned,
		&c.Sequence.Schema, &c.Sequence.Name, database.ScanInt(&c.top), &c.Step, &c.mayRead}, c.owner.path(), []any{database.ScanJSON(&k.Inheritors), &k.inherited})
}

// readCounters reads the next number of each key that it isn't known of yet, as far as the
// account may read it.
func (c *catalog) readCounters(ctx context.Context) error {
	if c.Dialect == Postgres {
		return c.readSequences(ctx)
	}
	for i := range c.keys {
		k := &c.keys[i]
		switch {
		case c.Dialect == SQLite:
			last := fmt.Sprintf("SELECT coalesce(max(%s), 0) FROM %s", c.Quote(k.Column.Name), c.name(k.Column.Table))
			if k.Mechanism == Autoincrement {
				last = fmt.Sprintf("SELECT max((%s), coalesce((SELECT max(CAST(seq AS INTEGER)) FROM %s.sqlite_sequence WHERE name = %s COLLATE NOCASE), 0), 0)",
					last, c.Quote(k.Column.Table.Schema), c.Literal(k.Column.Table.Name))
			}
			n, err := database.One(ctx, c.conn, last, database.Number)
			if err != nil {
				return err
			}
			k.Counter.next = new(big.Int).Add(big.NewInt(n), big.NewInt(1))
		case k.Counter.Sequence != Name{}:
			k.Counter = c.readMariaDBSequence(ctx, k.Counter.Sequence)
		}
	}
	return nil
}

// readSequences reads the next number of each sequence of Postgres that the role may read. We
// read at most 500 sequences per statement, because the statement locks each of them,
// and the number of locks that a transaction can hold is limited.
func (c *catalog) readSequences(ctx context.Context) error {
	const most = 500
	var reading []*Counter
	for i := range c.keys {
		switch k := &c.keys[i]; {
		case k.Counter.Sequence == Name{}:
		case k.Counter.mayRead:
			reading = append(reading, &k.Counter)
		default:
			sequence := c.name(k.Counter.Sequence)
			c.hidden(fmt.Sprintf("GRANT USAGE ON SCHEMA %s and SELECT ON SEQUENCE %s to it, or inspect as their owner", c.Quote(k.Counter.Sequence.Schema), sequence),
				"this role may not read %s, which numbers %s, so that its counter is not known", sequence, c.column(k.Column))
		}
	}
	for part := range slices.Chunk(reading, most) {
		selects := database.Joined(part, "\nUNION ALL ", func(i int, counter *Counter) string {
			return fmt.Sprintf("SELECT %d, last_value, CASE WHEN is_called THEN %d ELSE 0 END FROM %s", i, counter.Step, c.name(counter.Sequence))
		})
		type state struct {
			i          int
			last, step int64
		}
		states, err := database.List(ctx, c.conn, selects, func(s *state) []any { return []any{&s.i, &s.last, &s.step} })
		if err != nil {
			return err
		}
		for _, state := range states {
			part[state.i].next = new(big.Int).Add(big.NewInt(state.last), big.NewInt(state.step))
		}
	}
	return nil
}

// readMariaDBSequence reads the state of a sequence. The next number that it returns is
// above any number that a connection may have cached.
func (c *catalog) readMariaDBSequence(ctx context.Context, name Name) Counter {
	counter := Counter{Sequence: name}
	_, err := database.One(ctx, c.conn, "SELECT next_not_cached_value, IF(increment < 0, minimum_value, maximum_value), increment FROM "+c.name(name), func(*struct{}) []any {
		return []any{database.ScanInt(&counter.next), database.ScanInt(&counter.top), &counter.Step}
	})
	if err != nil {
		c.hidden(fmt.Sprintf("GRANT SELECT ON %s to this account", c.name(name)),
			"the sequence %s cannot be read, so that its counter is not known: %v", c.name(name), err)
	}
	return counter
}

// hidden adds a finding about something that the account may not see.
func (c *catalog) hidden(remedy, format string, args ...any) {
	f := Finding{Unseen, Warning, Column{}, fmt.Sprintf(format, args...), remedy}
	if !slices.Contains(c.unseen, f) { // because of another key
		c.unseen = append(c.unseen, f)
	}
}
