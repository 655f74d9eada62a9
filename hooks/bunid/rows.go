package bunid

import (
	"fmt"
	"reflect"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// rows are the rows in a model.
type rows struct {
	*key
	list    bool            // they are a slice
	structs []reflect.Value // none for a nil pointer
	keys    []reflect.Value // of the structs; they can be set
	zero    []int           // the indexes of the keys that are zero
}

// rowsOf returns the rows in a model. To make sure that all keys can be set, it allocates
// embedded structs that are nil pointers.
func (k *key) rowsOf(model any) (*rows, error) {
	r, v := &rows{key: k}, reflect.ValueOf(model)
	if v.Kind() != reflect.Pointer {
		return nil, k.Refuse(-1, nil, fmt.Sprintf("was given as %T", model), "pass a pointer to the row, or to a slice of rows")
	}
	if v.IsNil() {
		return r, nil
	}
	if r.list = v.Elem().Kind() == reflect.Slice; !r.list {
		return r, r.add(v, -1)
	}
	for i := range v.Elem().Len() {
		if err := r.add(v.Elem().Index(i), i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// add adds a struct, or what is behind a pointer, or behind an interface that holds one. Errors
// have the index at.
func (r *rows) add(v reflect.Value, at int) error {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return r.Refuse(at, nil, "is nil", "leave it out")
	case v.Type() != r.table.Type:
		return r.Refuse(at, nil, "is a "+v.Type().String(), "insert rows of one model at a time")
	case !v.CanAddr():
		return r.Refuse(at, nil, "was given by value, so that its key cannot be filled", "give a pointer to it")
	}
	key := r.Field.Value(v)
	if keytype.Empty(key) {
		r.zero = append(r.zero, len(r.keys))
	}
	r.structs, r.keys = append(r.structs, v), append(r.keys, key)
	return nil
}
