package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A Field describes a model field that holds keys: which column stores it, and what the
// program expects that column to be like.
type Field struct {
	// Model is what findings call the field, such as "shop.User.ID".
	Model string

	// Table and Column name the column that stores the field. If Table has no schema,
	// it's looked up the way the connection would do it.
	Table  Name
	Column string

	// Counts is true if the database numbers the rows, rather than the program sending
	// keys. The fields below are ignored in that case.
	Counts bool

	// Foreign is true if the field holds the key of another row.
	Foreign bool

	// Unsigned is true if the program expects an UNSIGNED column (MySQL and MariaDB
	// only).
	Unsigned bool

	// Text is true if the program writes keys as text with up to Size characters, rather
	// than as 64-bit numbers. A Size of 0 means that it isn't known.
	Text bool
	Size int
}

// These kinds of findings are only reported by [Compare].
const (
	MissingTable  Kind = "missing-table"  // the database does not have the model's table
	MissingColumn Kind = "missing-column" // the table does not have the field's column
	NotCounting   Kind = "not-counting"   // the model expects the database to assign the key, but the column is not auto-increment
	NumberKey     Kind = "number-key"     // the model writes text, but the column holds numbers
	TextKey       Kind = "text-key"       // the model writes numbers, but the column holds text
)

// Compare compares the key columns that a program expects with the ones in the database.
// It usually isn't called directly, because each integration has a Check function built
// on it that can be run on startup and in CI. Compare is read-only, uses a single
// connection, and is safe for concurrent use.
//
// It returns nil if everything is fine, and otherwise a [*MismatchError] listing all of
// the findings, which can be:
//
//   - the table or column does not exist
//   - the column, or a foreign key to it, cannot hold every key
//   - the program sends keys, but the column still counts or is GENERATED ALWAYS
//   - the program expects the database to assign the key, but the column doesn't
//     count
//   - the program uses text for keys and the column numbers, or the reverse
//   - only one of the two is UNSIGNED
//
// Other errors are [ErrDialect] or wrap the driver's error. Note that Compare can't find
// problems in anything the account isn't allowed to see.
func Compare(ctx context.Context, db *sql.DB, fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	var c comparison
	err := withConn(ctx, db, func(conn *sql.Conn) error {
		found, err := database.Identify(ctx, conn)
		if err != nil {
			return err
		}
		return c.readSteadily(ctx, server{found}, conn, fields)
	})
	if err != nil {
		return err
	}
	for _, field := range fields {
		c.compare(field)
	}
	if len(c.findings) == 0 {
		return nil
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return &MismatchError{Findings: c.findings}
}

// A MismatchError lists all places where the models don't match the database's columns.
type MismatchError struct {
	Findings []Finding // never empty, the most severe first
}

// Severity returns the highest severity among the findings. Below [Blocker], it's okay
// for a program to log the error and start anyway.
func (e *MismatchError) Severity() Severity {
	worst := Note
	for _, f := range e.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Error lists all findings with their remedies, each on separate lines.
func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "catalog: the models and the database do not match, %s:", database.Plural(len(e.Findings), "finding"))
	for _, f := range e.Findings {
		fmt.Fprintf(&b, "\n  %-8s %s [%s]\n           → %s", f.Severity, database.Printable(f.Text), f.Kind, database.Printable(f.Remedy))
	}
	return b.String()
}

// A comparison holds the state of Compare.
type comparison struct {
	*catalog
	tables   map[Name][]Column // by the name used in the program; empty if the table doesn't exist
	children map[Column][]ForeignKey
	findings []Finding
}

// readSteadily retries read if it fails. Programs are often started while a migration
// is still altering tables, and then a table that one query has seen may be gone by the
// next.
func (c *comparison) readSteadily(ctx context.Context, s server, conn *sql.Conn, fields []Field) error {
	const attempts = 4
	for attempt := 1; ; attempt++ {
		err := c.read(ctx, s, conn, fields)
		if err == nil || attempt == attempts {
			return err
		}
		if err := database.Sleep(ctx, time.Duration(attempt)*100*time.Millisecond); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
	}
}

// read reads the columns of all tables that the fields name, followed by the catalog of
// the schemas that these tables are in. We don't need the current values of the
// counters here.
func (c *comparison) read(ctx context.Context, s server, conn *sql.Conn, fields []Field) (err error) {
	c.tables = make(map[Name][]Column)
	var schemas []string
	for _, field := range fields {
		if _, known := c.tables[field.Table]; known {
			continue
		}
		columns, err := s.readColumns(ctx, conn, field.Table)
		if err != nil {
			return err
		}
		c.tables[field.Table] = columns
		if len(columns) > 0 && !slices.Contains(schemas, columns[0].Table.Schema) {
			schemas = append(schemas, columns[0].Table.Schema)
		}
	}
	if c.catalog, err = s.read(ctx, conn, schemas); err != nil {
		return err
	}
	c.children = c.catalog.children()
	return nil
}

// readColumns returns the columns of one table or view, or none if it doesn't exist.
func (s server) readColumns(ctx context.Context, conn *sql.Conn, table Name) ([]Column, error) {
	columns, err := database.List(ctx, conn, s.query("table"), func(c *Column) []any { return c.dest(s.Dialect) }, table.Schema, table.Name)
	// Databases attached to SQLite may have a table of that name too, in which case the
	// first one wins.
	return slices.DeleteFunc(columns, func(c Column) bool { return c.Table != columns[0].Table }), err
}

// find adds a finding, unless we already have it because of another field.
func (c *comparison) find(kind Kind, severity Severity, column Column, remedy, format string, args ...any) {
	known := func(other Finding) bool { return other.Kind == kind && other.Column.same(column) }
	if !slices.ContainsFunc(c.findings, known) {
		c.findings = append(c.findings, Finding{kind, severity, column, fmt.Sprintf(format, args...), remedy})
	}
}

func (c *comparison) compare(field Field) {
	columns := c.tables[field.Table]
	if len(columns) == 0 {
		table, where := c.Quote(field.Table.Name), "where the connection looks for it"
		if field.Table.Schema != "" {
			table, where = c.name(field.Table), "in this database"
		}
		c.find(MissingTable, Blocker, Column{Table: field.Table}, "create the table, connect as the program does, or correct the table's name in the model",
			"%s is stored in %s, and there is no such table %s", field.Model, table, where)
		return
	}
	folded := c.fold(Column{Table: columns[0].Table, Name: field.Column})
	i := slices.IndexFunc(columns, func(column Column) bool { return c.fold(column) == folded })
	if i < 0 {
		missing := Column{Table: columns[0].Table, Name: field.Column}
		c.find(MissingColumn, Blocker, missing, "add the column, or correct its name in the model",
			"%s is stored in %s, and there is no such column", field.Model, c.column(missing))
		return
	}
	column := columns[i]
	at := slices.IndexFunc(c.keys, func(k Key) bool { return k.Column.same(column) })
	if field.Counts {
		if at < 0 {
			c.find(NotCounting, Blocker, column, "have the program fill the key, as it does one that is a pk.ID and has the hook of its ORM",
				"%s leaves its number to the database, and %s does not count, so that inserts fail", field.Model, c.column(column))
		}
		return
	}
	c.compareType(field, column)
	key := Key{Column: column}
	if at >= 0 {
		key = c.keys[at]
		c.judgeCounting(&key)
	}
	if !field.Foreign {
		for _, fk := range key.held(c.children) {
			c.judgeChild(&key, fk)
			c.compareSize(field, fk.Child, NarrowChild)
		}
	}
	for _, f := range key.Findings {
		switch f.Kind {
		case StillCounts:
			f.Severity = max(f.Severity, Warning)
			fence := database.Own(database.FencePrefix, column.Table.Name) // if a migration has made it
			if slices.ContainsFunc(c.triggers, func(t Trigger) bool { return t.Table == column.Table && t.Name == fence }) {
				f.Severity = Warning
				f.Text = fmt.Sprintf("%s still counts, behind the fence %s", c.column(column), c.Quote(fence))
				f.Remedy = "apply the phase drop of the plan when all writers send keys"
			}
			fallthrough
		case AlwaysGenerated:
			f.Text = field.Model + " is filled by the program, and " + f.Text
			fallthrough
		case NarrowChild, TextChild:
			c.find(f.Kind, f.Severity, f.Column, f.Remedy, "%s", f.Text)
		}
	}
}

// compareType checks whether the column's type suits the field.
func (c *comparison) compareType(field Field, column Column) {
	narrow := NarrowKey
	if field.Foreign {
		narrow = NarrowChild
	}
	is := fmt.Sprintf("%s is %s", c.column(column), column.Type)
	switch {
	case field.Text && column.Bits > 0:
		c.find(NumberKey, Blocker, column, "declare it as pk.ID in the model; it is text in JSON all the same",
			"%s is written as text, and %s, which keeps numbers", field.Model, is)
	case field.Text && column.Text:
		c.compareSize(field, column, narrow)
	case c.keepsAnything(column):
	case field.Text:
		c.find(NotNumeric, Blocker, column, "give the column a type of text, or correct the model",
			"%s is written as text, and %s", field.Model, is)
	case column.Text:
		c.find(TextKey, Blocker, column, "declare it as pk.Text in the model if the rows hold the plain decimal, as pk.SortText if they hold 13 characters, or make the column BIGINT",
			"%s is written as a number, and %s, which keeps text", field.Model, is)
	case column.Bits == 0:
		c.find(NotNumeric, Blocker, column, "make the column BIGINT, or correct the model",
			"%s is written as a number of 64 bits, and %s", field.Model, is)
	case column.narrow():
		c.find(narrow, Blocker, column, c.widen(column),
			"%s has 64 bits, and %s, which cannot hold them", field.Model, is)
	case column.Unsigned != field.Unsigned && c.IsMySQL():
		c.find(SignMismatch, Warning, column, fmt.Sprintf("declare the field as %s in the model", signs[column.Unsigned]),
			"%s is taken to be %s, and %s; keys fit both, but a foreign key that is made by the model is refused, and ent's migration alters the column", field.Model, signs[field.Unsigned], is)
	}
}

// keepsAnything reports whether a column can store both numbers and text, even though
// its type is neither. On SQLite these are the columns without a type, too, and on MySQL
// those that hold bytes.
func (s server) keepsAnything(c Column) bool {
	kind := strings.ToLower(c.Type)
	switch s.Dialect {
	case Postgres:
		return false
	case SQLite:
		return kind == "" || strings.Contains(kind, "blob")
	}
	return strings.Contains(kind, "binary") || strings.Contains(kind, "blob")
}

var signs = map[bool]string{false: "signed (BIGINT)", true: "unsigned (BIGINT UNSIGNED)"}

// compareSize checks whether the column's text is long enough. SQLite doesn't enforce a
// length, so there is nothing to check there.
func (c *comparison) compareSize(field Field, column Column, kind Kind) {
	size := textSize(column)
	if !field.Text || size == 0 || size >= field.Size || c.Dialect == SQLite {
		return
	}
	c.find(kind, Blocker, column, fmt.Sprintf("make the column VARCHAR(%d), or CHAR of that length if its keys all have it", field.Size),
		"%s is written as text of up to %d characters, and %s is %s", field.Model, field.Size, c.column(column), column.Type)
}

// textSize returns how many characters a text column can hold, or 0 if there is no
// limit or it isn't known.
func textSize(c Column) int {
	n, ok := ddl.ParseType(c.Type).Digits()
	if !ok || !c.Text {
		return 0
	}
	return n
}
