package bunid

import (
	"fmt"
	"reflect"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// rows are the rows in a model.
type rows struct {
	*key
	v    reflect.Value   // the struct or the slice; a nil pointer has no rows
	list bool            // v is a slice
	keys []reflect.Value // in the order of the rows; they can be set
	zero []int           // the indexes of the keys that are zero
}

// rowsOf returns the rows in a model. To make sure that all keys can be set, it allocates
// embedded structs that are nil pointers.
func (k *key) rowsOf(model any) (*rows, error) {
	r := &rows{key: k, v: reflect.ValueOf(model)}
	if r.v.Kind() != reflect.Pointer {
		return nil, k.Refuse(-1, nil, fmt.Sprintf("was given as %T", model), "pass a pointer to the row, or to a slice of rows")
	}
	if r.v.IsNil() {
		return r, nil
	}
	r.v = r.v.Elem()
	n := 1
	if r.list = r.v.Kind() == reflect.Slice; r.list {
		n = r.v.Len()
	}
	r.keys = make([]reflect.Value, 0, n)
	for i := range n {
		at := i // in errors
		if !r.list {
			at = -1
		}
		switch v := r.row(i); {
		case !v.IsValid():
			return nil, r.Refuse(at, nil, "is nil", "leave it out")
		case v.Type() != r.table.Type:
			return nil, r.Refuse(at, nil, "is a "+v.Type().String(), "insert rows of one model at a time")
		case !v.CanAddr():
			return nil, r.Refuse(at, nil, "was given by value, so that its key cannot be filled", "give a pointer to it")
		default:
			r.keys = append(r.keys, r.Field.Value(v))
		}
		if keytype.Empty(r.keys[i]) {
			r.zero = append(r.zero, i)
		}
	}
	return r, nil
}

// row returns the struct of row i, which may be behind a pointer, or an interface that holds
// one. It's the zero Value for nil.
func (r *rows) row(i int) reflect.Value {
	v := r.v
	if r.list {
		v = v.Index(i)
	}
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}
