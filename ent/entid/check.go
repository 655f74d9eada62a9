package entid

import (
	"context"
	stdsql "database/sql"
	"errors"
	"slices"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// Check compares the ids of ent tables, and the foreign keys that refer to them, with the
// columns that actually exist in the database. You can't rely on ent's own migration to
// report all differences. On MySQL and SQLite, for example, it ignores that a key still has
// auto-increment. Call Check after the migrations, both when the program starts and in CI,
// with the tables that ent has generated:
//
//	entid.Check(ctx, db, migrate.Tables...)
//
// Check doesn't change anything. If there are differences, it returns a
// [*catalog.MismatchError] with all of them. If ent leaves an id to the database, Check
// reports a column that doesn't number its rows. It ignores ids that are neither 64-bit
// numbers nor text.
func Check(ctx context.Context, db *stdsql.DB, tables ...*schema.Table) error {
	if len(tables) == 0 || slices.Contains(tables, nil) {
		return errors.New("entid: Check has nothing to compare; pass migrate.Tables of the package that ent generated")
	}
	server, err := catalog.Identify(ctx, db)
	if err != nil {
		return err
	}
	var fields []catalog.Field
	for _, t := range tables {
		fields = append(fields, fieldsOf(t, dialects[server])...)
	}
	return catalog.Compare(ctx, db, fields)
}

// dialects has the names of the dialects in ent.
var dialects = map[catalog.Dialect]string{
	catalog.Postgres: dialect.Postgres,
	catalog.MySQL:    dialect.MySQL,
	catalog.MariaDB:  dialect.MySQL,
	catalog.SQLite:   dialect.SQLite,
}

// fieldsOf returns the columns of a table that hold ids: its own id and foreign
// keys.
func fieldsOf(t *schema.Table, dialect string) (fields []catalog.Field) {
	at := func(f catalog.Field, c *schema.Column) catalog.Field {
		f.Model, f.Table, f.Column = "ent's "+t.Name+"."+c.Name, catalog.Name{Schema: t.Schema, Name: t.Name}, c.Name
		return f
	}
	if len(t.PrimaryKey) == 1 {
		if id, ok := fieldOf(t.PrimaryKey[0], dialect); ok {
			fields = append(fields, at(id, t.PrimaryKey[0]))
		}
	}
	for _, fk := range t.ForeignKeys {
		for i, c := range fk.Columns {
			if i >= len(fk.RefColumns) {
				break
			}
			id, ok := fieldOf(fk.RefColumns[i], dialect)
			if !ok || id.Counts {
				continue
			}
			id.Foreign = true
			fields = append(fields, at(id, c))
		}
	}
	return fields
}

// fieldOf describes a column as ent declares it. If the column is neither a 64-bit
// number nor text, ok is false.
func fieldOf(c *schema.Column, dialect string) (f catalog.Field, ok bool) {
	if c.Increment {
		return catalog.Field{Counts: true}, true
	}
	column := ddl.ParseType(c.SchemaType[dialect])
	if column.Name == "" {
		switch c.Type {
		case field.TypeInt, field.TypeInt64:
			return catalog.Field{}, true
		case field.TypeUint, field.TypeUint64:
			return catalog.Field{Unsigned: true}, true
		case field.TypeString:
			return catalog.Field{Text: true}, true
		}
		return catalog.Field{}, false
	}
	switch column.Class() {
	case ddl.Serial:
		return catalog.Field{Counts: true}, true
	case ddl.BigInt:
		return catalog.Field{Unsigned: column.Unsigned}, true
	case ddl.Char, ddl.Text:
		size, _ := column.Digits()
		return catalog.Field{Text: true, Size: size}, true
	}
	return catalog.Field{}, false
}
