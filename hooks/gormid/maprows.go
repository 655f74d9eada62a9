package gormid

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// mapRows are one or more maps of columns or fields to values.
type mapRows struct {
	k    *key
	stmt *gorm.Statement
	maps []map[string]any
}

// mapsOf returns the rows that dest holds, if they are maps.
func mapsOf(dest any) (maps []map[string]any, ok bool) {
	switch dest := dest.(type) {
	case map[string]any:
		return []map[string]any{dest}, true
	case *map[string]any:
		return []map[string]any{*dest}, true
	case []map[string]any:
		return dest, true
	case *[]map[string]any:
		return *dest, true
	}
	return nil, false
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

func (r mapRows) of(k *key) rows { r.k = k; return r }

func (r mapRows) len() int { return len(r.maps) }

func (r mapRows) empty(dst []int) ([]int, error) {
	for i, m := range r.maps {
		zero, err := r.adopt(i, m)
		if err != nil {
			return dst, err
		}
		if zero {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

// adopt reports whether m has no key. If it has one, adopt makes sure that the database
// stores it in the same form as a key from a struct, and converts it if necessary.
func (r mapRows) adopt(i int, m map[string]any) (zero bool, err error) {
	if m == nil {
		return false, r.k.Refuse(i, gorm.ErrInvalidData, "is a nil map", "leave it out")
	}
	column := r.k.field.DBName
	name, n := r.find(m, column)
	switch {
	case n == 0:
		return true, nil
	case n > 1:
		return false, r.k.Refuse(i, gorm.ErrInvalidData, "has its key under several names", "leave only "+column)
	case r.stmt.Schema == nil && name != column:
		return false, r.k.Refuse(i, gorm.ErrInvalidData, "names its key "+name, "name it "+column+", because GORM has no model here to translate names")
	}
	v, zero, err := r.k.adopt(m[name])
	if err != nil {
		return false, r.k.Refuse(i, err, fmt.Sprintf("has an invalid key of type %T: %v", m[name], err),
			"use "+r.k.typ.String()+", an integer or decimal text")
	}
	if !zero && v != nil {
		m[name] = v
	}
	return zero, nil
}

// find returns a name under which m contains the column, and the number of such names.
func (r mapRows) find(m map[string]any, column string) (name string, n int) {
	for k := range m {
		if r.isColumn(k, column) {
			name = k
			n++
		}
	}
	return name, n
}

// isColumn reports whether GORM or the database resolves name to column.
func (r mapRows) isColumn(name, column string) bool {
	if name == column {
		return true
	}
	if r.stmt.Schema == nil { // in which case GORM doesn't change the names
		return strings.EqualFold(name, column)
	}
	f := r.stmt.Schema.LookUpField(name)
	return f != nil && f.DBName == column
}

func (r mapRows) value(i int, field string) any {
	f := r.k.schema.LookUpField(field)
	if f == nil {
		return nil
	}
	name, _ := r.find(r.maps[i], f.DBName)
	return r.maps[i][name]
}

func (r mapRows) fill(some []int, ids []int64) {
	for j, i := range some {
		r.row(i).set(ids[j])
	}
}

func (r mapRows) repeated(some []int, ids []int64) int {
	for j, i := range some {
		if !(mapRow{r, r.maps[i]}).has(ids[j]) {
			return i
		}
	}
	return -1
}

func (r mapRows) row(i int) row { return mapRow{r, r.maps[i]} }

type mapRow struct {
	mapRows
	m map[string]any
}

func (r mapRow) set(id int64) {
	name, n := r.find(r.m, r.k.field.DBName)
	if n == 0 {
		name = r.k.field.DBName
	}
	r.m[name] = r.k.value(id)
}

func (r mapRow) has(id int64) bool {
	name, _ := r.find(r.m, r.k.field.DBName)
	return r.m[name] == r.k.value(id)
}

func (r mapRow) clear() {
	name, _ := r.find(r.m, r.k.field.DBName)
	delete(r.m, name)
}

// adopt reads a key from a map. If the driver would send v in a different form than a value
// of the key's type, adopt returns such a value as own. Otherwise own is nil.
func (k *key) adopt(v any) (own any, zero bool, err error) {
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if !rv.IsValid() || rv.Kind() == reflect.Pointer {
		return nil, true, nil
	}
	if rv.Type() == k.typ {
		return nil, keytype.Empty(rv), nil
	}
	t := reflect.New(k.typ).Elem()
	if err := k.read(t, rv); err != nil {
		return nil, false, err
	}
	want, err := canonical(t.Interface())
	if err != nil {
		return nil, false, err
	}
	if have, err := canonical(v); err == nil && reflect.DeepEqual(have, want) {
		return nil, keytype.Empty(t), nil
	}
	return t.Interface(), keytype.Empty(t), nil
}

// read stores the number that src represents in dst, which is of the key's type.
func (k *key) read(dst, src reflect.Value) error {
	switch v := src.Interface().(type) {
	case clause.Expression, gorm.Valuer, *gorm.DB:
		return fmt.Errorf("the value of an SQL expression is not known after the INSERT")
	case []byte:
		return k.readText(dst, string(v))
	}
	switch {
	case src.CanInt():
		return k.readInt(dst, src.Int())
	case src.CanUint() && src.Uint() > math.MaxInt64:
		return fmt.Errorf("%d is above the largest key", src.Uint())
	case src.CanUint():
		return k.readInt(dst, int64(src.Uint()))
	case src.CanFloat():
		return fmt.Errorf("a float has lost digits above 2^53")
	case src.Kind() == reflect.String:
		return k.readText(dst, src.String())
	}
	if valuer, ok := src.Interface().(driver.Valuer); ok { // such as sql.NullInt64
		v, err := valuer.Value()
		if err != nil || v == nil {
			return err
		}
		return k.read(dst, reflect.ValueOf(v))
	}
	return fmt.Errorf("neither a number nor text")
}

func (k *key) readInt(dst reflect.Value, n int64) error {
	if n < 0 && dst.CanUint() {
		return fmt.Errorf("%d is negative", n)
	}
	if n != 0 { // the zero of text is "", not "0"
		keytype.Set(dst, n)
	}
	return nil
}

func (k *key) readText(dst reflect.Value, s string) error {
	if s == "" {
		return nil
	}
	if scanner, ok := dst.Addr().Interface().(sql.Scanner); ok {
		return scanner.Scan(s)
	}
	if k.typ.Kind() == reflect.String {
		dst.SetString(s)
		return nil
	}
	id, err := pk.Parse(s)
	if err != nil {
		return err
	}
	return k.readInt(dst, id.Int64())
}
