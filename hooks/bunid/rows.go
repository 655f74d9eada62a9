package bunid

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// rows are the rows in a model.
type rows struct {
	*key
	model any
	list  bool            // the model is a slice
	keys  []reflect.Value // in the order of the rows; they can be set
	zero  []int           // the indexes of the keys that are zero
}

// rowsOf returns the rows in a model. To make sure that all keys can be set, it allocates
// embedded structs that are nil pointers. If model is a nil pointer, there are no rows.
func (k *key) rowsOf(model any) (*rows, error) {
	r := &rows{key: k, model: model}
	v := reflect.ValueOf(model)
	if v.Kind() != reflect.Pointer {
		return nil, k.Refuse(-1, nil, fmt.Sprintf("was given as %T", model), "pass a pointer to the row, or to a slice of rows")
	}
	if v.IsNil() {
		return r, nil
	}
	if v = v.Elem(); v.Kind() != reflect.Slice {
		return r, r.add(v, -1)
	}
	r.list = true
	r.keys = make([]reflect.Value, 0, v.Len())
	for i := range v.Len() {
		if err := r.add(v.Index(i), i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// add adds row i. Its struct may be behind a pointer, or an interface that holds one.
func (r *rows) add(v reflect.Value, i int) error {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem() // the zero Value for nil
	}
	switch {
	case !v.IsValid():
		return r.Refuse(i, nil, "is nil", "leave it out")
	case v.Type() != r.table.Type:
		return r.Refuse(i, nil, "is a "+v.Type().String(), "insert rows of one model at a time")
	case !v.CanAddr():
		return r.Refuse(i, nil, "was given by value, so that its key cannot be filled", "give a pointer to it")
	}
	key := r.Field.Value(v)
	if keytype.Empty(key) {
		r.zero = append(r.zero, len(r.keys))
	}
	r.keys = append(r.keys, key)
	return nil
}

// valueOf returns a function that finds the value of a field in a row.
func (r *rows) valueOf() func(row int, field string) any {
	var values []reflect.Value
	return func(row int, field string) any {
		if values == nil {
			i := slices.IndexFunc(r.table.Fields, func(f *schema.Field) bool { return f.GoName == field })
			if i < 0 {
				return nil
			}
			others, _ := (&key{Field: r.table.Fields[i], Key: r.Key, table: r.table}).rowsOf(r.model) // which succeeded for the key
			values = others.keys
		}
		return values[row].Interface()
	}
}
