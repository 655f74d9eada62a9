package gormid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// Check compares models with the columns in the database. This covers their keys, the
// foreign keys referring to those, and any other field with a type from package pk. It's
// read-only.
//
// Check should be run after migrations, on startup as well as in CI. AutoMigrate can't be
// relied on to report differences, since it doesn't change existing integer keys, never
// removes auto-increment, and returns nil regardless.
//
// The error joins
//   - a [*catalog.MismatchError] that lists all differences. For a key that GORM leaves to the
//     database, this includes a column without auto-increment.
//   - a [*FieldError] for each declaration that the plugin would reject
//   - a [*FieldError] for each key whose json tag has the string option
//   - if db doesn't have the plugin, an error for each key that the plugin would fill, unless
//     the key's tag declares a check
func Check(ctx context.Context, db *gorm.DB, models ...any) error {
	if db == nil || len(models) == 0 {
		return errors.New("gormid: Check has nothing to compare; pass an open *gorm.DB and the models")
	}
	conn, err := db.DB()
	if err != nil {
		return fmt.Errorf("gormid: Check needs the *sql.DB behind GORM: %w", err)
	}
	_, installed := db.Plugins[(*Plugin)(nil).Name()]
	schemas, err := parse(db, models)
	errs := []error{err}
	var fields []catalog.Field
	for _, s := range schemas {
		k, err := newKey(s, db.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if k != nil && k.given == "" && !installed && k.field.TagSettings["CHECK"] == "" {
			errs = append(errs, k.Fault("is not filled, because the database has no plugin, and GORM would store the first row with key 0",
				"call db.Use(gormid.New(gormid.Config{})) before Check, or add check:"+k.field.DBName+" > 0 to the tag"))
		}
		for _, f := range s.Fields {
			if problem, remedy := keytype.Quoted(f.StructField); problem != "" {
				errs = append(errs, fault(s, f, problem, remedy))
			}
		}
		for _, field := range fieldsOf(s) {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	return errors.Join(append(errs, catalog.Compare(ctx, conn, fields))...)
}

// fieldsOf returns the fields that hold keys: the keys of the model, and the
// foreign keys to them in all tables.
func fieldsOf(s *schema.Schema) (fields []catalog.Field) {
	for _, f := range s.Fields {
		switch {
		case f.DBName == "":
		case f.PrimaryKey && f.AutoIncrement:
			column := columnOf(f, f, false)
			column.Counts = true
			fields = append(fields, column)
		case f.PrimaryKey && optedIn(f), keytype.IsPK(f.IndirectFieldType):
			fields = append(fields, columnOf(f, f, !f.PrimaryKey || isForeignKey(s, f)))
		}
	}
	for _, ref := range referencesOf(s) {
		if ref.PrimaryKey != nil && ref.PrimaryKey.PrimaryKey && optedIn(ref.PrimaryKey) && ref.ForeignKey.DBName != "" {
			fields = append(fields, columnOf(ref.ForeignKey, ref.PrimaryKey, true))
		}
	}
	return fields
}

// columnOf returns the column in which f is stored, with keys like those of a primary field.
func columnOf(f, primary *schema.Field, foreign bool) catalog.Field {
	size := keytype.TextSize(primary.IndirectFieldType)
	table := catalog.Name{Name: f.Schema.Table}
	if i := strings.LastIndexByte(table.Name, '.'); i >= 0 {
		table = catalog.Name{Schema: table.Name[:i], Name: table.Name[i+1:]}
	}
	return catalog.Field{
		Model:    modelName(f.Schema) + "." + f.Name,
		Table:    table,
		Column:   f.DBName,
		Unsigned: f.DataType == schema.Uint || ddl.ParseType(string(f.DataType)).Unsigned,
		Text:     size > 0,
		Size:     size,
		Foreign:  foreign,
	}
}
