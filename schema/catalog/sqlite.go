package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

const (
	sqliteSchemas = `SELECT name FROM pragma_database_list WHERE name <> 'temp' ORDER BY seq`

	// The primary key is an alias of the rowid if it is a single column whose type is
	// exactly INTEGER, and if it doesn't have an index of its own. In a table WITHOUT
	// ROWID it does.
	sqliteColumns = `SELECT t.name, x.name, x.type, x.type, x.pk, m.sql,
	x.pk = 1 AND upper(x.type) = 'INTEGER'
	AND (SELECT count(*) FROM pragma_table_xinfo(t.name, ?1) WHERE pk > 0) = 1
	AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name, ?1) WHERE origin = 'pk')
FROM pragma_table_list AS t
JOIN {schema}.sqlite_master AS m ON m.type = 'table' AND m.name = t.name
JOIN pragma_table_xinfo(t.name, ?1) AS x
WHERE t.schema = ?1 AND t.type = 'table'
ORDER BY t.name, x.pk`

	sqliteLinks = `SELECT t.name, f.id, f."table", f.seq, f."from", coalesce(f."to", '')
FROM pragma_table_list AS t JOIN pragma_foreign_key_list(t.name, ?1) AS f
WHERE t.schema = ?1 AND t.type = 'table'
ORDER BY t.name, f.id, f.seq`

	// We skip partial indexes, since they don't cover every row.
	sqliteIndexes = `SELECT t.name, i.name, coalesce(c.name, '')
FROM pragma_table_list AS t JOIN pragma_index_list(t.name, ?1) AS i JOIN pragma_index_info(i.name, ?1) AS c
WHERE t.schema = ?1 AND t.type = 'table' AND i.partial = 0
ORDER BY t.name, i.name, c.seqno`

	sqliteViews = `SELECT name, sql FROM {schema}.sqlite_master WHERE type = 'view' ORDER BY name`

	sqliteTriggers = `SELECT tbl_name, name FROM {schema}.sqlite_master WHERE type = 'trigger' ORDER BY tbl_name, name`

	sqliteHasSequence = `SELECT count(*) FROM {schema}.sqlite_master WHERE name = 'sqlite_sequence'`

	sqliteSequence = `SELECT name, CAST(seq AS INTEGER) FROM {schema}.sqlite_sequence`
)

func (s server) readSQLite(ctx context.Context, conn *sql.Conn, _ []string) (*catalog, error) {
	c := &catalog{foldTable: ddl.Lower, foldColumn: ddl.Lower}
	var err error
	if c.schemas, err = database.List(ctx, conn, sqliteSchemas, database.Text); err != nil {
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

// query inserts the name of the schema into a statement.
func (s *sqliteSchema) query(text string) string {
	return strings.ReplaceAll(text, "{schema}", s.Quote(s.name))
}

func (s *sqliteSchema) read(ctx context.Context) error {
	var err error
	s.columns, err = database.List(ctx, s.conn, s.query(sqliteColumns), func(c *sqliteColumn) []any {
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
	if err := s.readViews(ctx); err != nil {
		return err
	}
	triggers, err := database.List(ctx, s.conn, s.query(sqliteTriggers), func(t *Trigger) []any {
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
	counted, err := database.One(ctx, s.conn, s.query(sqliteHasSequence), func(n *int) []any { return []any{n} })
	if err == nil && counted > 0 {
		sequences, err = database.List(ctx, s.conn, s.query(sqliteSequence), func(s *sequence) []any { return []any{&s.table, &s.last} })
	}
	if err != nil {
		return err
	}
	for _, column := range s.columns {
		if !column.rowid {
			continue
		}
		k := Key{Column: column.Column, Mechanism: Rowid, PrimaryKey: []string{column.Name}}
		k.Counter = Counter{Step: 1, start: newNumber(1), top: newNumber(math.MaxInt64)}
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
		k.Counter.next = newNumber(last)
		k.Counter.next.Add(&k.Counter.next.Int, &newNumber(1).Int)
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
	}
	rows, err := database.List(ctx, s.conn, sqliteLinks, func(r *row) []any {
		return []any{&r.child, &r.id, &r.parent, &r.position, &r.from, &r.to}
	}, s.name)
	if err != nil {
		return err
	}
	indexes, err := s.readIndexes(ctx)
	if err != nil {
		return err
	}
	constraints := make(map[string][]string) // maps each constraint to its columns
	id := func(r row) string { return fmt.Sprintf("%q %q %d", s.name, r.child, r.id) }
	for _, r := range rows {
		constraints[id(r)] = append(constraints[id(r)], ddl.Lower(r.from))
	}
	for _, r := range rows {
		child, ok := s.find(r.child, r.from, 0)
		parent, known := s.find(r.parent, r.to, r.position+1)
		if !ok || !known {
			continue // SQLite accepts a foreign key that references something that doesn't exist
		}
		columns := constraints[id(r)]
		fk := ForeignKey{Child: child.Column, Parent: parent.Column, Indexed: child.rowid && len(columns) == 1}
		for _, index := range indexes[r.child] {
			fk.Indexed = fk.Indexed || covers(index, columns)
		}
		s.catalog.links = append(s.catalog.links, link{constraint: id(r), ForeignKey: fk})
	}
	return nil
}

// covers reports whether an index begins with the given columns, in any order.
func covers(index, columns []string) bool {
	if len(index) < len(columns) {
		return false
	}
	for _, column := range columns {
		if !slices.Contains(index[:len(columns)], column) {
			return false
		}
	}
	return true
}

// readIndexes returns the columns of each index, grouped by table.
func (s *sqliteSchema) readIndexes(ctx context.Context) (map[string][][]string, error) {
	type row struct{ table, index, column string }
	rows, err := database.List(ctx, s.conn, sqliteIndexes, func(r *row) []any { return []any{&r.table, &r.index, &r.column} }, s.name)
	if err != nil {
		return nil, err
	}
	indexes := make(map[string][][]string)
	last := row{}
	for _, r := range rows {
		of := indexes[r.table]
		if r.table != last.table || r.index != last.index {
			of = append(of, nil)
		}
		of[len(of)-1] = append(of[len(of)-1], ddl.Lower(r.column))
		indexes[r.table], last = of, r
	}
	return indexes, nil
}

// readViews finds out which tables and columns each view uses. It has to guess a
// little, because SQLite only keeps the text of a view. A name in it may belong to a
// table or to a column, and the rowid goes by several names.
func (s *sqliteSchema) readViews(ctx context.Context) error {
	type view struct{ name, sql string }
	views, err := database.List(ctx, s.conn, s.query(sqliteViews), func(v *view) []any { return []any{&v.name, &v.sql} })
	if err != nil {
		return err
	}
	tables := make(map[string]Name)
	rowids := make(map[string]string) // maps each table to its column that is an alias of the rowid
	for _, column := range s.columns {
		tables[ddl.Lower(column.Table.Name)] = column.Table
		if column.rowid {
			rowids[ddl.Lower(column.Table.Name)] = ddl.Lower(column.Name)
		}
	}
	for _, v := range views {
		tables[ddl.Lower(v.name)] = Name{s.name, v.name}
	}
	for _, v := range views {
		var columns []string
		for _, n := range ddl.Names(v.sql, false) {
			columns = append(columns, ddl.Lower(n[len(n)-1]))
		}
		own := slices.ContainsFunc(columns, func(name string) bool { return name == "rowid" || name == "_rowid_" || name == "oid" })
		for folded, table := range tables {
			if folded == ddl.Lower(v.name) || !slices.Contains(columns, folded) {
				continue
			}
			u := use{view: View{Name: Name{s.name, v.name}}, table: table, columns: columns}
			if own && rowids[folded] != "" {
				u.columns = append(slices.Clone(columns), rowids[folded])
			}
			s.catalog.uses = append(s.catalog.uses, u)
		}
	}
	return nil
}
