package gormid

import (
	"context"
	"reflect"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// rows are the rows of one call of Create.
type rows interface {
	len() int
	// of returns the same rows for k, another part of a composite key.
	of(k *key) rows
	// empty appends the indexes of the rows without a key to dst. It returns an error
	// for nil rows and for keys of the wrong kind.
	empty(dst []int) ([]int, error)
	// value returns the value of a field in row i, or nil if there is none.
	value(i int, field string) any
	// fill sets the key of each row some[j] to ids[j].
	fill(some []int, ids []int64)
	// repeated returns the index of a row that has lost its key from fill because the
	// same row is in the call a second time, or -1 if there's no such row.
	repeated(some []int, ids []int64) int
	// row returns row i, for use after the INSERT, when GORM may have changed the
	// list.
	row(i int) row
}

// A row is one of the rows of a call.
type row interface {
	has(id int64) bool
	set(id int64)
	clear()
}

// rowsOf returns the rows of a statement, or nil for a kind of rows that GORM rejects
// anyway.
func (c *creation) rowsOf() (rows, error) {
	k, stmt := c.key, c.stmt
	v := stmt.ReflectValue
	t := v.Type()
	r := &c.structs
	if v.Kind() != reflect.Struct {
		if maps, ok := mapsOf(stmt.Dest); ok {
			return mapRows{k, stmt, maps}, nil
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
	r.k, r.ctx, r.v = k, stmt.Context, v
	if t != k.schema.ModelType {
		return nil, k.Refuse(-1, gorm.ErrInvalidData, "is not the type of the rows, which is "+t.String(), "pass rows of the model's type")
	}
	if !v.CanAddr() && !r.pointers && v.Kind() != reflect.Slice {
		return nil, k.Refuse(-1, gorm.ErrInvalidValue, "was passed by value, so that its key cannot be filled", "pass a pointer: db.Create(&row)")
	}
	return r, nil
}

// structRows are a struct, or a slice or array of structs or pointers to them.
type structRows struct {
	k        *key
	ctx      context.Context
	v        reflect.Value
	list     bool
	pointers bool
}

func (r *structRows) of(k *key) rows {
	other := *r
	other.k = k
	return &other
}

func (r *structRows) len() int {
	if !r.list {
		return 1
	}
	return r.v.Len()
}

// at returns the struct of row i, or the zero Value for a nil pointer.
func (r *structRows) at(i int) reflect.Value {
	if !r.list {
		return r.v
	}
	return reflect.Indirect(r.v.Index(i))
}

func (r *structRows) empty(dst []int) ([]int, error) {
	for i := range r.len() {
		s := r.at(i)
		if !s.IsValid() {
			return dst, r.k.Refuse(i, gorm.ErrInvalidData, "is a nil pointer", "leave it out")
		}
		if keytype.Empty(r.k.in(r.ctx, s)) {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

func (r *structRows) value(i int, field string) any { return fill.FieldOf(r.at(i), field) }

func (r *structRows) fill(some []int, ids []int64) {
	for j, i := range some {
		r.k.set(r.ctx, r.at(i), ids[j])
	}
}

func (r *structRows) repeated(some []int, ids []int64) int {
	if r.pointers {
		for j, i := range some {
			if !(structRow{r.k, r.ctx, r.at(i)}).has(ids[j]) {
				return i
			}
		}
	}
	return -1
}

func (r *structRows) row(i int) row { return structRow{r.k, r.ctx, r.at(i)} }

type structRow struct {
	k   *key
	ctx context.Context
	v   reflect.Value
}

func (r structRow) set(id int64) { r.k.set(r.ctx, r.v, id) }

func (r structRow) has(id int64) bool {
	v := reflect.Indirect(r.k.in(r.ctx, r.v))
	if !v.IsValid() {
		return false
	}
	n, ok := r.k.number(v)
	return ok && n == id
}

// unpad removes the trailing spaces that a CHAR column adds to a text key.
func (r structRow) unpad() {
	if v := reflect.Indirect(r.k.in(r.ctx, r.v)); v.Kind() == reflect.String {
		if id, ok := r.k.number(v); ok {
			r.set(id)
		}
	}
}

func (r structRow) clear() { r.k.in(r.ctx, r.v).SetZero() }
