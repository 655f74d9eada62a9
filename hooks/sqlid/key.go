package sqlid

import (
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

	// The innermost embedded pointer around the field that we can't set with reflection,
	// because its type isn't exported. The depth is 0 if there's no such pointer.
	seal      reflect.Type
	sealDepth int
}

// keys holds a *key or an error for each type that we've seen.
var keys sync.Map // reflect.Type → *key or error

func keyOf(model reflect.Type) (*key, error) {
	v, ok := keys.Load(model)
	if !ok {
		k, err := newKey(model)
		v = k
		if err != nil {
			v = err
		}
		keys.Store(model, v)
	}
	if err, ok := v.(error); ok {
		return nil, err
	}
	return v.(*key), nil
}

func newKey(model reflect.Type) (*key, error) {
	f, err := choose(model)
	if err != nil {
		return nil, err
	}
	k := &key{Key: errorsOf(model, f), field: f, given: f.Tag.Get(tag) == "-"}
	k.Generator = f.Tag.Get(tag)
	for depth := 1; depth < len(f.Index); depth++ {
		if e := model.FieldByIndex(f.Index[:depth]); e.Type.Kind() == reflect.Pointer {
			k.indirect = true
			if !e.IsExported() {
				k.seal, k.sealDepth = e.Type, depth
			}
		}
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
	var tagged, given, id reflect.StructField
	for _, f := range reflect.VisibleFields(model) {
		name, ok := f.Tag.Lookup(tag)
		switch {
		case ok && name == "-":
			if given.Type == nil {
				given = f
			}
		case ok && tagged.Type != nil:
			k := errorsOf(model, f)
			return f, k.Fault("is tagged snowkey, and so is "+tagged.Name, "tag one field")
		case ok:
			tagged = f
		case f.Name == "ID", f.Name == "Id" && id.Type == nil:
			id = f
		}
	}
	if id.Type != nil && keytype.IsPK(pointee(id.Type)) {
		// Two fields look like the key, and one would stay 0.
		k := errorsOf(model, id)
		switch {
		case tagged.Type != nil && keytype.Holds(pointee(tagged.Type)):
			return id, k.Fault("would not be filled, because "+tagged.Name+" is tagged snowkey", "remove that tag, or tag "+id.Name+` `+"`snowkey:\"-\"`")
		case given.Type != nil:
			return id, k.Fault("would be filled, and "+given.Name+` is tagged snowkey:"-"`, "remove that tag, or tag "+id.Name+" `snowkey:\"\"`")
		}
	}
	switch {
	case tagged.Type != nil:
		return tagged, nil
	case id.Type == nil && given.Type == nil:
		k := fill.Key{Package: "sqlid", Model: model.String()}
		return id, k.Fault("has no key to fill", "declare a field ID of type pk.ID, or tag the key `snowkey:\"\"`")
	case id.Type != nil && keytype.IsPK(pointee(id.Type)):
		return id, nil
	case given.Type != nil:
		return given, nil
	}
	if !keytype.Holds(pointee(id.Type)) {
		return id, nil // newKey reports that the type can't hold a key, since a tag wouldn't help
	}
	k := errorsOf(model, id)
	return id, k.Fault("is not known to be a key", "declare it as pk.ID, or tag it `snowkey:\"\"`")
}

// pointee returns the type that t points to, or t.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// in returns the field of the key in a row, and the depth 0. If an embedded struct around
// the field is a nil pointer, in returns that pointer and its depth instead.
func (k *key) in(row reflect.Value) (v reflect.Value, depth int) {
	for depth, i := range k.field.Index {
		if depth > 0 && row.Kind() == reflect.Pointer {
			if row.IsNil() {
				return row, depth
			}
			row = row.Elem()
		}
		row = row.Field(i)
	}
	return row, 0
}

// empty reports whether a row has no key.
func (k *key) empty(row reflect.Value) bool {
	v, depth := k.in(row)
	return depth > 0 || keytype.Empty(v)
}

// sealed reports whether an embedded struct around the row's key is missing, and we can't
// set it with reflection.
func (k *key) sealed(row reflect.Value) bool {
	_, depth := k.in(row)
	return 0 < depth && depth <= k.sealDepth
}

// set sets the key of a row to id. If embedded structs are nil pointers, it allocates them.
func (k *key) set(row reflect.Value, id int64) {
	v, depth := k.in(row)
	for ; depth > 0; v, depth = k.in(row) {
		v.Set(reflect.New(v.Type().Elem()))
	}
	keytype.Set(v, id)
}
