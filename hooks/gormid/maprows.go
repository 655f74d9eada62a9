package gormid

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// mapsOf returns the rows of a statement, if they are maps.
func mapsOf(stmt *gorm.Statement) []map[string]any {
	if !stmt.ReflectValue.IsValid() {
		return nil
	}
	switch rows := stmt.ReflectValue.Interface().(type) {
	case map[string]any:
		return []map[string]any{rows}
	case []map[string]any:
		return rows
	}
	return nil
}

// nullableKey finds a primary key of a single column that accepts NULL, which is possible
// only on SQLite.
const nullableKey = `SELECT max(name) FROM pragma_table_info(?) WHERE pk > 0 AND "notnull" = 0 GROUP BY NULL
HAVING count(*) = 1 AND upper(max(type)) <> 'INTEGER' AND (SELECT count(*) FROM pragma_table_info(?) WHERE pk > 0) = 1`

// refuseNull refuses maps without a key if we don't know the table's model. Other databases
// would refuse such a row themselves, but SQLite stores NULL as the key.
func refuseNull(stmt *gorm.Statement, maps []map[string]any) error {
	if stmt.Dialector.Name() != "sqlite" || stmt.ConnPool == nil || stmt.DB.DryRun {
		return nil
	}
	var column string
	err := stmt.ConnPool.QueryRowContext(stmt.Context, nullableKey, stmt.Table, stmt.Table).Scan(&column)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("gormid: read the columns of %s: %w", stmt.Table, err)
	}
	k := fill.Key{Package: "gormid", Model: stmt.Table}
	for i, m := range maps {
		if m[column] == nil {
			return k.Refuse(i, gorm.ErrInvalidData, "has no "+column+", and SQLite would store NULL",
				"list the model in Config.Models, pass it with db.Model, or set the key")
		}
	}
	return nil
}

// adopt reports whether row i, which is a map, has no key k. If it has one, adopt makes sure
// that the database stores it in the same form as a key from a struct, and converts it if
// necessary.
func (r row) adopt(k *key, i int) (zero bool, err error) {
	m := r.m
	if m == nil {
		return false, k.Refuse(i, gorm.ErrInvalidData, "is a nil map", "leave it out")
	}
	column := k.field.DBName
	name, n := r.find(column)
	switch {
	case n == 0:
		return true, nil
	case n > 1:
		return false, k.Refuse(i, gorm.ErrInvalidData, "has its key under several names", "leave only "+column)
	case r.stmt.Schema == nil && name != column:
		return false, k.Refuse(i, gorm.ErrInvalidData, "names its key "+name, "name it "+column+", because GORM has no model here to translate names")
	}
	v, zero, err := k.adopt(m[name])
	if err != nil {
		return false, k.Refuse(i, err, fmt.Sprintf("has an invalid key of type %T: %v", m[name], err),
			"use "+k.typ.String()+", an integer or decimal text")
	}
	if !zero && v != nil {
		m[name] = v
	}
	return zero, nil
}

// find returns a name under which a map contains the column, and the number of such names. If
// there is none, it returns the column's.
func (r row) find(column string) (name string, n int) {
	name = column
	for k := range r.m {
		if r.isColumn(k, column) {
			name = k
			n++
		}
	}
	return name, n
}

// isColumn reports whether GORM or the database resolves name to column.
func (r row) isColumn(name, column string) bool {
	if name == column {
		return true
	}
	if r.stmt.Schema == nil { // in which case GORM doesn't change the names
		return strings.EqualFold(name, column)
	}
	f := r.stmt.Schema.LookUpField(name)
	return f != nil && f.DBName == column
}

// adopt reads a key from a map. If the driver would send v in a different form than a value
// of the key's type, adopt returns such a value as own. Otherwise own is nil.
func (k *key) adopt(v any) (own any, zero bool, err error) {
	switch v.(type) {
	case clause.Expression, gorm.Valuer, *gorm.DB:
		return nil, false, errors.New("the value of an SQL expression is not known after the INSERT")
	}
	if rv := reflect.ValueOf(v); rv.IsValid() && rv.Type() == k.typ {
		return nil, keytype.Empty(rv), nil
	}
	sent, err := canonical(v)
	if err != nil || sent == nil {
		return nil, true, err
	}
	to := reflect.New(k.typ)
	var id pk.ID
	switch sent := sent.(type) {
	case string, []byte:
		text := fmt.Sprintf("%s", sent)
		scanner, scans := to.Interface().(sql.Scanner)
		switch {
		case text == "":
			return nil, true, nil
		case scans:
			err = scanner.Scan(text)
		case k.typ.Kind() == reflect.String:
			to.Elem().SetString(text)
		default:
			if id, err = pk.Parse(text); err == nil {
				keytype.Set(to.Elem(), int64(id))
			}
		}
	case int64:
		id = pk.ID(sent)
		keytype.Set(to.Elem(), sent)
	case float64:
		err = errors.New("a float has lost digits above 2^53")
	default:
		err = errors.New("neither a number nor text")
	}
	if id < 0 && to.Elem().CanUint() {
		err = fmt.Errorf("%d is negative", id)
	}
	if err != nil {
		return nil, false, err
	}
	want, err := canonical(to.Interface())
	if err != nil || !reflect.DeepEqual(want, sent) {
		own = to.Elem().Interface()
	}
	return own, keytype.Empty(to.Elem()), err
}
