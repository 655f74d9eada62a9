package bunid

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// Check compares models with the columns in the database. It looks at keys, and at any other
// field that has a type from package pk or refers to a key. It's read-only, and should be
// run after migrations with the same models as [Use], on startup as well as in CI.
//
// The error is a [*catalog.MismatchError] listing all differences, joined with a
// [*FieldError] for each declaration Use would reject and for each key whose json tag has
// the string option. For keys that bun leaves to the database, Check makes sure that their
// columns actually number the rows.
func Check(ctx context.Context, db *bun.DB, models ...any) error {
	if db == nil || len(models) == 0 {
		return errors.New("bunid: Check has nothing to compare; pass an open *bun.DB and the models")
	}
	g, err := newGuard(db, models)
	if err != nil {
		return err
	}
	var errs []error
	var fields []catalog.Field
	for _, model := range models {
		t := db.Table(reflect.TypeOf(model).Elem())
		v := g.verdictOn(db, t)
		if err := errors.Join(v.err, g.mismatched(db, t)); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range t.Fields {
			if problem, remedy := keytype.Quoted(f.StructField); problem != "" {
				errs = append(errs, newKey(f, t).Fault(problem, remedy))
			}
		}
		fields = append(fields, fieldsOf(t, v.filled)...)
	}
	return errors.Join(append(errs, catalog.Compare(ctx, db.DB, fields))...)
}

// fieldsOf returns the fields of a model that hold keys.
func fieldsOf(t *schema.Table, filled bool) (fields []catalog.Field) {
	add := func(f *schema.Field, like reflect.Type, foreign bool) {
		column := columnOf(f, like, foreign)
		if !slices.Contains(fields, column) {
			fields = append(fields, column)
		}
	}
	for _, f := range t.PKs {
		switch {
		case numbered(f):
			column := columnOf(f, f.IndirectType, false)
			column.Counts = true
			fields = append(fields, column)
		case filled && len(t.PKs) == 1, keytype.IsPK(f.IndirectType):
			add(f, f.IndirectType, isForeignKey(f, t))
		}
	}
	for _, f := range t.DataFields {
		if keytype.IsPK(f.IndirectType) {
			add(f, f.IndirectType, true)
		}
	}
	for _, rel := range t.Relations {
		for i, f := range rel.BasePKs {
			if rel.Type == schema.BelongsToRelation && i < len(rel.JoinPKs) && keytype.IsPK(rel.JoinPKs[i].IndirectType) {
				add(f, rel.JoinPKs[i].IndirectType, true)
			}
		}
	}
	return fields
}

// columnOf returns the column in which f is stored, with keys like those of a Go type.
func columnOf(f *schema.Field, like reflect.Type, foreign bool) catalog.Field {
	size := keytype.TextSize(like)
	table := catalog.Name{Name: f.Table.Name} // as in the tag, because the schema that bun returns is a guess
	if schema, name, ok := strings.Cut(table.Name, "."); ok {
		table = catalog.Name{Schema: schema, Name: name}
	}
	return catalog.Field{
		Model:    fmt.Sprintf("%s.%s", modelName(f.Table), f.GoName),
		Table:    table,
		Column:   f.Name,
		Unsigned: ddl.ParseType(f.CreateTableSQLType).Unsigned,
		Text:     size > 0,
		Size:     size,
		Foreign:  foreign,
	}
}
