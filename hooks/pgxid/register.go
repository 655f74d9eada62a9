package pgxid

import (
	"database/sql/driver"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Register teaches a connection's type map to send lists of keys even if pgx doesn't know the
// parameter's type. Call it once per connection, before the first query.
//
// A list is a slice or array of keys (or pointers to keys), a named type based on one, a
// [pgtype.FlatArray] or a [pgtype.Array]. Lists are sent as text for the server to read as
// bigint[] or text[], depending on the query. Nil pointers and empty pk.Strings become NULL,
// except that pgx before 5.8.0 panics on nil pointers in a FlatArray or an Array. If a list
// has a Value method of its own, nothing changes.
//
// Register also makes pgx send NULL for a nil pointer behind another pointer: for example,
// &row.Boss where Boss is a nil *pk.ID. pgx panics without it, and in a COPY that takes down
// the whole process.
func Register(m *pgtype.Map) {
	m.RegisterDefaultPgType(list{}, "_int8")
	// wrapList has to come first. pgx caches plans by type, and one of its own wrappers
	// has the same type for all slices.
	m.TryWrapEncodePlanFuncs = slices.Concat([]pgtype.TryWrapEncodePlanFunc{wrapList, wrapPointer}, m.TryWrapEncodePlanFuncs)
}

// wrapPointer is a [pgtype.TryWrapEncodePlanFunc] for pointers to pointers to keys. pgx would
// call Value on the second pointer even if it's nil.
func wrapPointer(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	t := reflect.TypeOf(value)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Pointer || !keytype.IsPK(t.Elem().Elem()) {
		return nil, nil, false
	}
	return &wrapped{unwrap: func(value any) any {
		if key := reflect.ValueOf(value).Elem(); !key.IsNil() {
			return key.Interface()
		}
		return nil
	}}, reflect.New(t.Elem().Elem()).Interface(), true
}

// A wrapped is the plan for a value that is encoded as another one, or as NULL if that is nil.
type wrapped struct {
	unwrap func(value any) any
	next   pgtype.EncodePlan
}

func (p *wrapped) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *wrapped) Encode(value any, buf []byte) ([]byte, error) {
	if value = p.unwrap(value); value == nil {
		return nil, nil // NULL
	}
	return p.next.Encode(value, buf)
}

// A list wraps a list of keys in a type that Register has mapped to an array type. pgx still
// calls the Value method of each key, so text keys stay text.
type list struct{ pgtype.ArrayGetter }

// Index returns nil for a nil pointer, because pgx before 5.8.0 calls Value on it.
func (l list) Index(i int) any {
	key := l.ArrayGetter.Index(i)
	if v := reflect.ValueOf(key); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return key
}

// wrapList is a [pgtype.TryWrapEncodePlanFunc].
func wrapList(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	l, ok := listOf(value)
	return &wrapped{unwrap: func(value any) any { l, _ := listOf(value); return l }}, l, ok
}

// listOf wraps value, and reports whether it is a list of keys.
func listOf(value any) (list, bool) {
	switch value.(type) {
	case driver.Valuer:
		return list{}, false
	case list: // pgx didn't find a plan for it, and would never stop if we wrapped it again
		return list{}, false
	}
	getter, ok := value.(pgtype.ArrayGetter)
	var plain any // a slice or array, as pgx would wrap it
	switch reflect.ValueOf(value).Kind() {
	case reflect.Pointer: // pgx dereferences it first, and getters panic on the nil pointers that it plans with
		return list{}, false
	case reflect.Slice:
		_, plain, _ = pgtype.TryWrapSliceEncodePlan(value)
	case reflect.Array:
		_, plain, _ = pgtype.TryWrapArrayEncodePlan(value)
	}
	if !ok {
		getter, ok = plain.(pgtype.ArrayGetter)
	}
	if !ok {
		return list{}, false
	}
	key := reflect.TypeOf(getter.IndexType())
	if key != nil && key.Kind() == reflect.Pointer {
		key = key.Elem()
	}
	return list{getter}, key != nil && keytype.IsPK(key)
}
