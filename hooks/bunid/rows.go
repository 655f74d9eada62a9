package bunid

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// keysOf returns the keys of the rows in a model, in the order of the rows. To make sure that
// all keys can be set, it allocates embedded structs that are nil pointers. If model is a
// nil pointer, there are no rows.
func (k *key) keysOf(model any) (keys []reflect.Value, list bool, err error) {
	v := reflect.ValueOf(model)
	if v.Kind() != reflect.Pointer {
		return nil, false, k.Refuse(-1, nil, fmt.Sprintf("was given as %T", model), "pass a pointer to the row, or to a slice of rows")
	}
	if v.IsNil() {
		return nil, false, nil
	}
	if v = v.Elem(); v.Kind() != reflect.Slice {
		own, err := k.in(v, -1)
		return []reflect.Value{own}, false, err
	}
	keys = make([]reflect.Value, v.Len())
	for i := range keys {
		if keys[i], err = k.in(v.Index(i), i); err != nil {
			return nil, false, err
		}
	}
	return keys, true, nil
}

// valueOf returns a function that finds the value of a field in a row of the model.
func (k *key) valueOf(model any) func(row int, field string) any {
	var values []reflect.Value
	return func(row int, field string) any {
		if values == nil {
			i := slices.IndexFunc(k.table.Fields, func(f *schema.Field) bool { return f.GoName == field })
			if i < 0 {
				return nil
			}
			other := &key{Field: k.table.Fields[i], Key: k.Key, table: k.table}
			values, _, _ = other.keysOf(model) // which succeeded for the key
		}
		return values[row].Interface()
	}
}

// in returns the key of row i. Its struct may be behind a pointer, or an interface that holds
// one.
func (k *key) in(v reflect.Value, i int) (reflect.Value, error) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem() // the zero Value for nil
	}
	switch {
	case !v.IsValid():
		return v, k.Refuse(i, nil, "is nil", "leave it out")
	case v.Type() != k.table.Type:
		return v, k.Refuse(i, nil, "is a "+v.Type().String(), "insert rows of one model at a time")
	case !v.CanAddr():
		return v, k.Refuse(i, nil, "was given by value, so that its key cannot be filled", "give a pointer to it")
	}
	return k.Field.Value(v), nil
}

// empty returns the indexes of the keys that are zero.
func empty(keys []reflect.Value) []int {
	var zero []int
	for i, v := range keys {
		if keytype.Empty(v) {
			zero = append(zero, i)
		}
	}
	return zero
}
