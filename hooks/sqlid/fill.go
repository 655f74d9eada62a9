package sqlid

import (
	"context"
	"fmt"
	"reflect"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Fill calls [Filler.Fill] with keys from [idgen.Default].
func Fill(ctx context.Context, rows any) error { return (&Filler{}).Fill(ctx, rows) }

// Filler fills rows with keys from a source. For the zero value that's [idgen.Default], which
// is looked up on every call, so you're free to set the default pool later. A Filler is safe
// for concurrent use.
type Filler struct {
	source idgen.Source
}

// New returns a Filler using source, or idgen.Default() if source is nil. With an
// [*idgen.Pool], tags can pick one of its generators; with an [*idgen.Backfill], the time in
// a key is taken from the row's CreatedAt field.
func New(source idgen.Source) *Filler { return &Filler{source: source} }

// Fill gives a key to every row that doesn't have one. It accepts a pointer to a struct, a
// slice of structs or pointers, a pointer to a slice or array of these, or an array of
// pointers. All rows must have the same type. Don't use them from other goroutines while Fill
// is running. The error is a [*FieldError] or a [*RowError].
func (f *Filler) Fill(ctx context.Context, rows any) error {
	l, err := listOf(rows)
	if err != nil {
		return err
	}
	some := make([]int, 0, len(l.rows))
	for i := range l.rows {
		empty, err := l.empty(i)
		if err != nil {
			return err
		}
		if empty {
			some = append(some, i)
		}
	}
	if len(some) == 0 {
		return nil
	}
	ids, err := l.key.Draw(ctx, f.source, some, func(i int, field string) any { return fill.FieldOf(l.rows[i], field) })
	if err != nil {
		return err
	}
	for j, i := range some {
		// The row may already have its key, if it's in the list more than once.
		if v, _, _ := l.key.in(l.rows[i], true); keytype.Empty(v) {
			keytype.Set(v, ids[j])
		}
	}
	return nil
}

// A FieldError reports that a key can't be filled because of how its struct is declared.
// Until the declaration is fixed, any Fill of that type will return this error. Its fields
// are the strings Package ("sqlid"), Model (e.g. "shop.User"), Field, Type, Problem and
// Remedy.
type FieldError = fill.FieldError

// A RowError reports why Fill couldn't fill the rows in a call. None of them have changed.
//
// Package is "sqlid". Model is a type such as "shop.User", or whatever type was passed. Row
// is the index of the row within the call, or -1 if the error concerns the call as a whole.
// Problem and Remedy describe what's wrong and how to fix it. Err is the underlying error,
// if any.
type RowError = fill.RowError

// A list contains the rows of one call.
type list struct {
	key  *key
	rows []reflect.Value // the structs; the zero Value for a nil pointer
	many bool            // they were passed as a list

	// The indexes of the rows that we fill, by the address of their key. It's nil if
	// rows of this kind can't share a key.
	at map[uintptr]int
}

// listOf returns the rows that were passed to Fill.
func listOf(rows any) (l list, err error) {
	v := reflect.Indirect(reflect.ValueOf(rows))
	k := fill.Key{Package: "sqlid", Model: fmt.Sprintf("%T", rows)} // until the model is known
	if !v.IsValid() {
		return l, k.Refuse(-1, nil, "is nil", "pass a pointer to a struct, or a slice")
	}
	model, pointers := v.Type(), false
	if l.many = v.Kind() == reflect.Slice || v.Kind() == reflect.Array; l.many {
		pointers = model.Elem().Kind() == reflect.Pointer
		model = pointee(model.Elem())
	}
	if model.Kind() != reflect.Struct {
		return l, k.Refuse(-1, nil, "is not a struct or a list of structs of one type", "pass a pointer to a struct, or a slice of structs or of pointers to them")
	}
	if l.key, err = keyOf(model); err != nil {
		return l, err
	}
	if l.many && l.key.indirect {
		l.at = make(map[uintptr]int)
	}
	if !v.CanAddr() && v.Kind() != reflect.Slice && !pointers {
		return l, k.Refuse(-1, nil, "was passed by value, so that its key cannot be filled", "pass a pointer to it")
	}
	if !l.many {
		l.rows = []reflect.Value{v}
		return l, nil
	}
	l.rows = make([]reflect.Value, v.Len())
	for i := range l.rows {
		l.rows[i] = reflect.Indirect(v.Index(i))
	}
	return l, nil
}

// empty reports whether row i needs a key, and returns an error if we can't give it one.
func (l list) empty(i int) (bool, error) {
	row, k := l.rows[i], l.key
	if !row.IsValid() {
		return false, l.refuse(i, "is a nil pointer", "leave it out")
	}
	v, at, ok := k.in(row, false)
	switch {
	case ok && !keytype.Empty(v):
		return false, nil
	case k.given:
		return false, l.refuse(i, "has no key, and "+k.field.Name+" is tagged `snowkey:\"-\"`", "set it")
	case !ok:
		return false, l.refuse(i, fmt.Sprintf("lacks its embedded %v, which cannot be set because it is not exported", v.Type()), "set it, or export the type")
	}
	if l.at != nil {
		if other, ok := l.at[at]; ok && l.rows[other].Addr() != row.Addr() {
			return false, l.refuse(i, fmt.Sprintf("has its key %s in the same embedded struct as row %d", k.field.Name, other), "give each row a struct of its own")
		}
		l.at[at] = i
	}
	return true, nil
}

func (l list) refuse(i int, problem, remedy string) error {
	if !l.many {
		i = -1
	}
	return l.key.Refuse(i, nil, problem, remedy)
}
