package gormid

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// rows are the rows of one call of Create: a struct, a list of structs or of pointers to
// them, or maps.
type rows struct {
	k        *key
	stmt     *gorm.Statement
	v        reflect.Value // the struct, or the slice or array
	list     bool          // v is a slice or array
	pointers bool          // to structs
	maps     []map[string]any
}

// A row is one of the rows of a call. It stays the same if GORM changes the list.
type row struct {
	k    *key
	stmt *gorm.Statement
	v    reflect.Value  // the struct; the zero Value for a nil pointer
	m    map[string]any // if the row is a map
}

// rowsOf returns the rows of a statement, or nil for a kind of rows that GORM rejects
// anyway.
func rowsOf(k *key, stmt *gorm.Statement) (*rows, error) {
	v := stmt.ReflectValue
	t := v.Type()
	r := &rows{k: k, stmt: stmt, v: v}
	if v.Kind() != reflect.Struct {
		if r.maps = mapsOf(stmt); r.maps != nil {
			return r, nil
		}
		if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			return nil, nil
		}
		r.list = true
		t = t.Elem()
		if r.pointers = t.Kind() == reflect.Pointer; r.pointers {
			t = t.Elem()
		}
	}
	if t != k.schema.ModelType {
		return nil, k.Refuse(-1, gorm.ErrInvalidData, "is not the type of the rows, which is "+t.String(), "pass rows of the model's type")
	}
	if !v.CanAddr() && !r.pointers && v.Kind() != reflect.Slice {
		return nil, k.Refuse(-1, gorm.ErrInvalidValue, "was passed by value, so that its key cannot be filled", "pass a pointer: db.Create(&row)")
	}
	return r, nil
}

// of returns the same rows for k, another part of a composite key.
func (r *rows) of(k *key) *rows {
	other := *r
	other.k = k
	return &other
}

func (r *rows) len() int {
	switch {
	case r.maps != nil:
		return len(r.maps)
	case r.list:
		return r.v.Len()
	}
	return 1
}

func (r *rows) row(i int) row {
	at := row{k: r.k, stmt: r.stmt}
	switch {
	case r.maps != nil:
		at.m = r.maps[i]
	case r.list:
		at.v = reflect.Indirect(r.v.Index(i))
	default:
		at.v = r.v
	}
	return at
}

// empty returns the indexes of the rows without a key. It returns an error for nil rows and
// for keys of the wrong kind.
func (r *rows) empty() ([]int, error) {
	some := make([]int, 0, r.len())
	for i := range r.len() {
		at := r.row(i)
		var zero bool
		switch {
		case r.maps != nil:
			var err error
			if zero, err = at.adopt(i); err != nil {
				return nil, err
			}
		case !at.v.IsValid():
			return nil, r.k.Refuse(i, gorm.ErrInvalidData, "is a nil pointer", "leave it out")
		default:
			zero = keytype.Empty(at.key())
		}
		if zero {
			some = append(some, i)
		}
	}
	return some, nil
}

// value returns the value of a field in row i, or nil if there is none.
func (r *rows) value(i int, field string) any {
	at := r.row(i)
	if r.maps == nil {
		return fill.FieldOf(at.v, field)
	}
	f := r.k.schema.LookUpField(field)
	if f == nil {
		return nil
	}
	name, _ := at.find(f.DBName)
	return at.m[name]
}

// key returns the key's field in a row that is a struct. If the field is in an embedded
// struct that is a nil pointer, key allocates that struct.
func (r row) key() reflect.Value { return r.k.field.ReflectValueOf(r.stmt.Context, r.v) }

// number returns the key in a row that is a struct. It returns false if there is none, or if
// it is text but not a number.
func (r row) number() (int64, bool) {
	v := reflect.Indirect(r.key())
	if !v.IsValid() {
		return 0, false
	}
	return r.k.number(v)
}

func (r row) has(id int64) bool {
	if r.m != nil {
		name, _ := r.find(r.k.field.DBName)
		return r.m[name] == r.k.value(id)
	}
	n, ok := r.number()
	return ok && n == id
}

func (r row) set(id int64) {
	if r.m == nil {
		keytype.Set(r.key(), id)
		return
	}
	name, n := r.find(r.k.field.DBName)
	if n == 0 {
		name = r.k.field.DBName
	}
	r.m[name] = r.k.value(id)
}

func (r row) clear() {
	if r.m == nil {
		r.key().SetZero()
		return
	}
	name, _ := r.find(r.k.field.DBName)
	delete(r.m, name)
}
