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

// A row is one of the rows of a call. It stays the same if GORM changes the list.
type row struct {
	stmt  *gorm.Statement
	index int            // in the call
	v     reflect.Value  // the struct; the zero Value for a nil pointer, or a map
	m     map[string]any // if the row is a map
}

// read reads the rows of the statement: a struct, a list of structs or of pointers to them,
// or maps. It reads none of a kind that GORM rejects anyway.
func (c *creation) read() error {
	add := func(v reflect.Value, m map[string]any) { c.rows = append(c.rows, row{c.stmt, len(c.rows), v, m}) }
	if maps := mapsOf(c.stmt); maps != nil {
		c.maps = true
		for _, m := range maps {
			add(reflect.Value{}, m)
		}
		return nil
	}
	v := c.stmt.ReflectValue
	t := v.Type()
	switch v.Kind() {
	case reflect.Struct:
		add(v, nil)
	case reflect.Slice, reflect.Array:
		c.list = true
		if t = t.Elem(); t.Kind() == reflect.Pointer {
			c.pointers, t = true, t.Elem()
		}
		for i := range v.Len() {
			add(reflect.Indirect(v.Index(i)), nil)
		}
	default:
		return nil
	}
	if t != c.key.schema.ModelType {
		return c.key.Refuse(-1, gorm.ErrInvalidData, "is not the type of the rows, which is "+t.String(), "pass rows of the model's type")
	}
	if !v.CanAddr() && !c.pointers && v.Kind() != reflect.Slice {
		return c.key.Refuse(-1, gorm.ErrInvalidValue, "was passed by value, so that its key cannot be filled", "pass a pointer: db.Create(&row)")
	}
	return nil
}

// empty returns the indexes of the rows without the key k. It returns an error for nil rows
// and for keys of the wrong kind.
func (c *creation) empty(k *key) ([]int, error) {
	some := make([]int, 0, len(c.rows))
	for i, r := range c.rows {
		var zero bool
		switch {
		case c.maps:
			var err error
			if zero, err = r.adopt(k); err != nil {
				return nil, err
			}
		case !r.v.IsValid():
			return nil, k.Refuse(i, gorm.ErrInvalidData, "is a nil pointer", "leave it out")
		default:
			zero = keytype.Empty(k.in(r))
		}
		if zero {
			some = append(some, i)
		}
	}
	return some, nil
}

// value returns the value of a field in row i, or nil if there is none.
func (c *creation) value(i int, field string) any {
	r := c.rows[i]
	if !c.maps {
		return fill.FieldOf(r.v, field)
	}
	f := c.key.schema.LookUpField(field)
	if f == nil {
		return nil
	}
	name, _ := r.find(f.DBName)
	return r.m[name]
}

// in returns the key's field in a row that is a struct, or else the zero Value. If the field is
// in an embedded struct that is a nil pointer, in allocates that struct.
func (k *key) in(r row) reflect.Value {
	if !r.v.IsValid() {
		return r.v
	}
	return k.field.ReflectValueOf(r.stmt.Context, r.v)
}

// number returns the key in a row that is a struct. It returns false if there is none, or if
// it is text but not a number.
func (k *key) number(r row) (int64, bool) {
	v := reflect.Indirect(k.in(r))
	if !v.IsValid() {
		return 0, false
	}
	return keytype.Get(v)
}

// lost reports whether a row no longer has the key that the plugin has set.
func (k *key) lost(s sent) bool {
	if s.m != nil {
		name, _ := s.find(k.field.DBName)
		return s.m[name] != k.value(s.id)
	}
	id, ok := k.number(s.row)
	return !ok || id != s.id
}

func (k *key) set(r row, id int64) {
	if r.m == nil {
		keytype.Set(k.in(r), id)
		return
	}
	name, _ := r.find(k.field.DBName)
	r.m[name] = k.value(id)
}

func (k *key) clear(r row) {
	if r.m == nil {
		k.in(r).SetZero()
		return
	}
	name, _ := r.find(k.field.DBName)
	delete(r.m, name)
}

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

// adopt reports whether a row that is a map has no key k. If it has one, adopt makes sure
// that the database stores it in the same form as a key from a struct, and converts it if
// necessary.
func (r row) adopt(k *key) (zero bool, err error) {
	column := k.field.DBName
	refuse := func(err error, problem, remedy string) (bool, error) {
		return false, k.Refuse(r.index, err, problem, remedy)
	}
	name, n := r.find(column)
	switch {
	case r.m == nil:
		return refuse(gorm.ErrInvalidData, "is a nil map", "leave it out")
	case n == 0:
		return true, nil
	case n > 1:
		return refuse(gorm.ErrInvalidData, "has its key under several names", "leave only "+column)
	case r.stmt.Schema == nil && name != column:
		return refuse(gorm.ErrInvalidData, "names its key "+name, "name it "+column+", because GORM has no model here to translate names")
	}
	v, zero, err := k.adopt(r.m[name])
	if err != nil {
		return refuse(err, fmt.Sprintf("has an invalid key of type %T: %v", r.m[name], err), "use "+k.typ.String()+", an integer or decimal text")
	}
	if !zero && v != nil {
		r.m[name] = v
	}
	return zero, nil
}

// find returns a name under which a map contains the column, and the number of such names. If
// there is none, it returns the column's.
func (r row) find(column string) (name string, n int) {
	name = column
	for other := range r.m {
		same := strings.EqualFold(other, column) // as the database compares them
		if s := r.stmt.Schema; s != nil {        // in which case GORM translates the names
			f := s.LookUpField(other)
			same = f != nil && f.DBName == column
		}
		if same {
			name = other
			n++
		}
	}
	return name, n
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
