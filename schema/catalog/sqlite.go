package catalog

import (
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

func (s server) readSQLite(ctx context.Context, conn *sql.Conn, _ []string, _ bool) (*catalog, error) {
	c := &catalog{foldTable: ddl.Lower, foldColumn: ddl.Lower}
	var err error
	if c.schemas, err = database.List(ctx, conn, s.query("schemas"), database.Text); err != nil {
		return nil, err
	}
	c.inspected = c.schemas
	for _, schema := range c.schemas {
		one := sqliteSchema{server: s, conn: conn, catalog: c, name: schema}
		if err := one.read(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// A sqliteSchema reads either the main database or an attached one. We can look at each
// one separately, because their objects can't refer to each other.
type sqliteSchema struct {
	server
	conn    *sql.Conn
	catalog *catalog
	name    string
	columns []sqliteColumn
}

type sqliteColumn struct {
	Column
	primary int    // position in the primary key, counted from 1; 0 if not part of it
	sql     string // the statement that created the table
	rowid   bool   // whether the column is an alias of the rowid
}

// query returns a query with the name of the schema.
func (s *sqliteSchema) query(name string) string {
	return strings.ReplaceAll(s.server.query(name), "{schema}", s.Quote(s.name))
}

func (s *sqliteSchema) read(ctx context.Context) error {
	var err error
	s.columns, err = database.List(ctx, s.conn, s.query("columns"), func(c *sqliteColumn) []any {
		c.Table.Schema = s.name
		return []any{&c.Table.Name, &c.Name, &c.Type, typed(SQLite, &c.Column), &c.primary, &c.sql, &c.rowid}
	}, s.name)
	if err != nil {
		return err
	}
	for _, column := range s.columns {
		if column.Bits > 0 {
			s.catalog.numbers = append(s.catalog.numbers, column.Column)
		}
	}
	if err := s.readKeys(ctx); err != nil {
		return err
	}
	if err := s.readLinks(ctx); err != nil {
		return err
	}
	triggers, err := database.List(ctx, s.conn, s.query("triggers"), func(t *Trigger) []any {
		t.Table.Schema = s.name
		return []any{&t.Table.Name, &t.Name}
	})
	s.catalog.triggers = append(s.catalog.triggers, triggers...)
	return err
}

func (s *sqliteSchema) readKeys(ctx context.Context) error {
	type sequence struct {
		table string
		last  int64
	}
	var sequences []sequence
	counted, err := database.One(ctx, s.conn, s.query("has sequence"), func(n *int) []any { return []any{n} })
	if err == nil && counted > 0 {
		sequences, err = database.List(ctx, s.conn, s.query("sequence"), func(s *sequence) []any { return []any{&s.table, &s.last} })
	}
	if err != nil {
		return err
	}
	for _, column := range s.columns {
		if !column.rowid {
			continue
		}
		k := Key{Column: column.Column, Mechanism: Rowid, PrimaryKey: []string{column.Name}}
		k.Counter = Counter{Step: 1, top: big.NewInt(math.MaxInt64)}
		largest, err := database.One(ctx, s.conn, fmt.Sprintf("SELECT max(%s) FROM %s", s.Quote(column.Name), s.server.name(column.Table)),
			func(n *sql.Null[int64]) []any { return []any{n} })
		if err != nil {
			return err
		}
		last := largest.V // 0 if the table is empty
		if slices.ContainsFunc(ddl.Tokens(column.sql, false), func(t ddl.Token) bool { return t.Is("AUTOINCREMENT") }) {
			k.Mechanism = Autoincrement
			for _, sequence := range sequences {
				if ddl.Lower(sequence.table) == ddl.Lower(column.Table.Name) {
					last = max(last, sequence.last)
				}
			}
			last = max(last, 0)
		}
		k.Counter.next = new(big.Int).Add(big.NewInt(last), big.NewInt(1))
		s.catalog.keys = append(s.catalog.keys, k)
	}
	return nil
}

// find returns the column of a table with the given name. If the name is empty, it
// returns the column at the given position of the primary key instead.
func (s *sqliteSchema) find(table, name string, primary int) (sqliteColumn, bool) {
	i := slices.IndexFunc(s.columns, func(c sqliteColumn) bool {
		same := ddl.Lower(c.Name) == ddl.Lower(name) || name == "" && c.primary == primary
		return same && ddl.Lower(c.Table.Name) == ddl.Lower(table)
	})
	if i < 0 {
		return sqliteColumn{}, false
	}
	return s.columns[i], true
}

func (s *sqliteSchema) readLinks(ctx context.Context) error {
	type row struct {
		child    string
		id       int
		parent   string
		position int
		from, to string
		whole    Reference
	}
	rows, err := database.List(ctx, s.conn, s.query("foreign keys"), func(r *row) []any {
		return []any{&r.child, &r.id, &r.parent, &r.position, &r.from, &r.to, &r.whole.OnUpdate, &r.whole.OnDelete}
	}, s.name)
	if err != nil {
		return err
	}
	for _, r := range rows {
		child, ok := s.find(r.child, r.from, 0)
		parent, known := s.find(r.parent, r.to, r.position+1)
		if !ok || !known {
			continue // SQLite accepts a foreign key that references something that doesn't exist
		}
		r.whole.Valid = true
		s.catalog.links = append(s.catalog.links, link{
			constraint: fmt.Sprintf("%q %q %d", s.name, r.child, r.id),
			ForeignKey: ForeignKey{Child: child.Column, Parent: parent.Column}, whole: r.whole,
		})
	}
	return nil
}
