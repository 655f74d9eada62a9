package gormid

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// A row is one of the rows of a call. It stays the same if GORM changes the list.
type row struct {
	stmt *gorm.Statement
	v    reflect.Value  // the struct; the zero Value for a nil pointer
	m    map[string]any // if the row is a map
}

// read reads the rows of the statement: a struct, a list of structs or of pointers to them,
// or maps. It reads none of a kind that GORM rejects anyway.
func (c *creation) read() error {
	v := c.stmt.ReflectValue
	t := v.Type()
	switch kind := v.Kind(); kind {
	case reflect.Struct:
		c.rows = []row{{c.stmt, v, nil}}
	case reflect.Map, reflect.Slice, reflect.Array:
		maps := mapsOf(c.stmt)
		for _, m := range maps {
			c.rows = append(c.rows, row{c.stmt, reflect.Value{}, m})
		}
		if c.maps = maps != nil; c.maps || kind == reflect.Map {
			return nil
		}
		c.list = true
		t = t.Elem()
		if c.pointers = t.Kind() == reflect.Pointer; c.pointers {
			t = t.Elem()
		}
		c.rows = make([]row, v.Len())
		for i := range c.rows {
			c.rows[i] = row{c.stmt, reflect.Indirect(v.Index(i)), nil}
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
			if zero, err = r.adopt(k, i); err != nil {
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

// in returns the key's field in a row that is a struct. If the field is in an embedded
// struct that is a nil pointer, in allocates that struct.
func (k *key) in(r row) reflect.Value { return k.field.ReflectValueOf(r.stmt.Context, r.v) }

// number returns the key in a row that is a struct. It returns false if there is none, or if
// it is text but not a number.
func (k *key) number(r row) (int64, bool) {
	v := reflect.Indirect(k.in(r))
	if !v.IsValid() {
		return 0, false
	}
	return keytype.Get(v)
}

// has reports whether id is the key of a row.
func (k *key) has(r row, id int64) bool {
	if r.m != nil {
		name, _ := r.find(k.field.DBName)
		return r.m[name] == k.value(id)
	}
	n, ok := k.number(r)
	return ok && n == id
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
