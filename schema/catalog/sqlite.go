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

// readSQLite reads the main database and the attached ones. We can look at each one
// separately, because their objects can't refer to each other.
func (s server) readSQLite(ctx context.Context, conn *sql.Conn) (*catalog, error) {
	c := &catalog{foldTable: ddl.Lower, foldColumn: ddl.Lower}
	var err error
	if c.schemas, err = database.List(ctx, conn, s.query("schemas"), database.Text); err != nil {
		return nil, err
	}
	c.inspected = c.schemas
	for _, schema := range c.schemas {
		if err := s.readSQLiteSchema(ctx, conn, c, schema); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type sqliteColumn struct {
	Column
	sql   string // the statement that created the table
	rowid bool   // whether the column is an alias of the rowid
}

func (c *sqliteColumn) dest() []any { return append(c.Column.dest(SQLite), &c.sql, &c.rowid) }

func (s server) readSQLiteSchema(ctx context.Context, conn *sql.Conn, c *catalog, schema string) error {
	var columns []sqliteColumn
	var links []link
	var triggers []Trigger
	query := func(name string) string { return strings.ReplaceAll(s.query(name), "{schema}", s.Quote(schema)) }
	err := database.ReadAll(ctx, conn,
		database.Into(&columns, query("columns"), (*sqliteColumn).dest, schema),
		database.Into(&links, query("foreign keys"), linkDest(SQLite), schema),
		database.Into(&triggers, query("triggers"), (*Trigger).dest, schema),
	)
	if err != nil {
		return err
	}
	c.links, c.triggers = append(c.links, links...), append(c.triggers, triggers...)
	for _, column := range columns {
		c.columns = append(c.columns, column.Column)
		if !column.rowid {
			continue
		}
		k := Key{Column: column.Column, Mechanism: Rowid, PrimaryKey: []string{column.Name}}
		last := fmt.Sprintf("SELECT coalesce(max(%s), 0) FROM %s", s.Quote(column.Name), s.name(column.Table))
		if slices.ContainsFunc(ddl.Tokens(column.sql, false), func(t ddl.Token) bool { return t.Is("AUTOINCREMENT") }) {
			k.Mechanism = Autoincrement
			last = fmt.Sprintf("SELECT max((%s), coalesce((SELECT max(CAST(seq AS INTEGER)) FROM %s.sqlite_sequence WHERE name = %s COLLATE NOCASE), 0), 0)",
				last, s.Quote(schema), s.Literal(column.Table.Name))
		}
		n, err := database.One(ctx, conn, last, database.Number)
		if err != nil {
			return err
		}
		k.Counter = Counter{Step: 1, next: new(big.Int).Add(big.NewInt(n), big.NewInt(1)), top: big.NewInt(math.MaxInt64)}
		c.keys = append(c.keys, k)
	}
	return nil
}
