package sqlid

import (
	"cmp"
	"reflect"
	"sync"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

const tag = "snowkey"

// A key describes which field of a struct type we fill, and how.
type key struct {
	fill.Key
	field reflect.StructField
	given bool // the caller sets it

	// The field is in an embedded struct that the row points to, so that rows can share it.
	indirect bool
}

// keys has a func() (*key, error) for each type that we've seen.
var keys sync.Map

func keyOf(model reflect.Type) (*key, error) {
	v, ok := keys.Load(model)
	if !ok {
		v, _ = keys.LoadOrStore(model, sync.OnceValues(func() (*key, error) { return newKey(model) }))
	}
	return v.(func() (*key, error))()
}

func newKey(model reflect.Type) (*key, error) {
	f, err := choose(model)
	if err != nil {
		return nil, err
	}
	k := &key{Key: errorsOf(model, f), field: f, given: f.Tag.Get(tag) == "-"}
	k.Generator = f.Tag.Get(tag)
	for depth := 1; depth < len(f.Index); depth++ {
		k.indirect = k.indirect || model.FieldByIndex(f.Index[:depth]).Type.Kind() == reflect.Pointer
	}
	switch {
	case !f.IsExported():
		return nil, k.Fault("is not exported", "capitalise its name, or tag another field")
	case k.given:
	case !keytype.Holds(pointee(f.Type)):
		return nil, k.Fault("cannot hold a 64-bit key", "declare it as pk.ID, or *pk.ID for NULL")
	case f.Anonymous:
		return nil, k.Embedded()
	}
	return k, nil
}

// errorsOf describes a field of a model for errors.
func errorsOf(model reflect.Type, f reflect.StructField) fill.Key {
	return fill.Key{Package: "sqlid", Model: model.String(), Field: f.Name, Type: f.Type.String()}
}

// choose returns the field that is the key of a model, or an error.
func choose(model reflect.Type) (reflect.StructField, error) {
	fault := func(f reflect.StructField, problem, remedy string) (reflect.StructField, error) {
		return f, errorsOf(model, f).Fault(problem, remedy)
	}
	var tagged, given, id reflect.StructField
	for _, f := range reflect.VisibleFields(model) {
		name, ok := f.Tag.Lookup(tag)
		switch {
		case ok && name == "-":
			if given.Type == nil {
				given = f
			}
		case ok && tagged.Type != nil:
			return fault(f, "is tagged snowkey, and so is "+tagged.Name, "tag one field")
		case ok:
			tagged = f
		case f.Name == "ID", f.Name == "Id" && id.Type == nil:
			id = f
		}
	}
	typed := id.Type != nil && keytype.IsPK(pointee(id.Type)) // if another is tagged, one of the two would stay 0
	switch {
	case typed && tagged.Type != nil && keytype.Holds(pointee(tagged.Type)):
		return fault(id, "would not be filled, because "+tagged.Name+" is tagged snowkey", "remove that tag, or tag "+id.Name+" `snowkey:\"-\"`")
	case tagged.Type != nil:
		return tagged, nil
	case typed && given.Type != nil:
		return fault(id, "would be filled, and "+given.Name+` is tagged snowkey:"-"`, "remove that tag, or tag "+id.Name+" `snowkey:\"\"`")
	case typed:
		return id, nil
	case given.Type != nil:
		return given, nil
	case id.Type == nil:
		return id, fill.Key{Package: "sqlid", Model: model.String()}.Fault("has no key to fill", "declare a field ID of type pk.ID, or tag the key `snowkey:\"\"`")
	case !keytype.Holds(pointee(id.Type)):
		return id, nil // newKey reports that the type can't hold a key, since a tag wouldn't help
	}
	return fault(id, "is not known to be a key", "declare it as pk.ID, or tag it `snowkey:\"\"`")
}

// pointee returns the type that t points to, or t.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// in returns the field of the key in a row, and the address at which the row has it. If
// embedded structs around it are nil pointers, it is a field of new structs, which in stores
// in the row if store is true. If such a pointer can't be set with reflection, because its
// type isn't exported, in returns the pointer and false.
func (k *key) in(row reflect.Value, store bool) (v reflect.Value, at uintptr, ok bool) {
	for depth, i := range k.field.Index {
		if depth > 0 && row.Kind() == reflect.Pointer {
			if row.IsNil() {
				at = cmp.Or(at, row.Addr().Pointer())
				if !row.CanSet() {
					return row, at, false
				}
				embedded := reflect.New(row.Type().Elem())
				if store {
					row.Set(embedded)
				}
				row = embedded
			}
			row = row.Elem()
		}
		row = row.Field(i)
	}
	return row, cmp.Or(at, row.Addr().Pointer()), true
}
