package pgxid

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Register teaches the type map of a connection to send lists of keys where it
// does not know the type of the parameter. Call it once for each connection,
// before its first query.
//
// A list is a slice or array of keys or of pointers to them, under any name, a
// [pgtype.FlatArray] or a [pgtype.Array]. It is sent as text, which the server
// takes for bigint[] or text[] as the query wants it. A nil pointer and an empty
// pk.String are NULL. A list with a Value method of its own is left alone.
func Register(m *pgtype.Map) {
	m.RegisterDefaultPgType(list{}, "_int8")
	// First, because pgx remembers plans by type, and one of its own wrappers is
	// the type of all slices.
	m.TryWrapEncodePlanFuncs = slices.Concat([]pgtype.TryWrapEncodePlanFunc{wrapList}, m.TryWrapEncodePlanFuncs)
}

// A list is a list of keys under a type that pgx knows an array type for. pgx encodes
// each key as usual, by its Value method, so text keys stay text.
type list struct{ pgtype.ArrayGetter }

// Index returns nil for a nil pointer, on which pgx before 5.8.0 calls Value.
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
	return &listPlan{}, l, ok
}

type listPlan struct{ next pgtype.EncodePlan }

func (p *listPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *listPlan) Encode(value any, buf []byte) ([]byte, error) {
	l, ok := listOf(value)
	if !ok {
		return nil, fmt.Errorf("pgxid: a %T is no longer a list of keys", value)
	}
	return p.next.Encode(l, buf)
}

// listOf finds the list in value.
func listOf(value any) (list, bool) {
	switch value.(type) {
	case driver.Valuer:
		return list{}, false
	case list: // pgx found no plan for it; if it is wrapped again, pgx never ends
		return list{}, false
	}
	getter, ok := value.(pgtype.ArrayGetter)
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer: // pgx dereferences it first; it plans with nil ones, on which getters panic
		return list{}, false
	case reflect.Slice, reflect.Array:
		if !ok {
			getter, ok = plainList{v}, true
		}
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

// A plainList is a Go slice or array, seen as pgx sees its own lists.
type plainList struct{ v reflect.Value }

func (l plainList) Dimensions() []pgtype.ArrayDimension {
	if l.v.Kind() == reflect.Slice && l.v.IsNil() {
		return nil
	}
	return []pgtype.ArrayDimension{{Length: int32(l.v.Len()), LowerBound: 1}}
}

func (l plainList) Index(i int) any { return l.v.Index(i).Interface() }

func (l plainList) IndexType() any { return reflect.Zero(l.v.Type().Elem()).Interface() }
