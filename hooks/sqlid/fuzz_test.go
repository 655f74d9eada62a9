package sqlid_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// FuzzFill makes rows of every shape from bytes, and compares the result of Fill with
// the documented rule.
//
// Each byte is a row: 0 is empty, 1 is nil if the shape allows it, 2 shares its pointer
// with the row before if the shape allows it, and others are presets.
func FuzzFill(f *testing.F) {
	for shape := range byte(6) {
		f.Add(shape, []byte{0, 7, 0, 0}, false)
		f.Add(shape, []byte{0, 0}, true)
		f.Add(shape, []byte{0, 1, 0}, false)
		f.Add(shape, []byte{0, 2, 2, 9}, false)
		f.Add(shape, []byte{}, true)
	}
	f.Fuzz(func(t *testing.T, shape byte, cells []byte, fail bool) {
		switch shape % 6 {
		case 0:
			fuzz(t, cells, fail, false, func(r *user) *pk.ID { return &r.ID })
		case 1:
			fuzz(t, cells, fail, true, func(r *user) *pk.ID { return &r.ID })
		case 2:
			fuzz(t, cells, fail, false, func(r *byPointer) *pk.ID { return field(&r.Base) })
		case 3:
			fuzz(t, cells, fail, true, func(r *Exported) *pk.ID {
				if r.Deep == nil {
					r.Deep = new(Deep)
				}
				return &r.ID
			})
		case 4:
			fuzz(t, cells, fail, false, func(r *maybe) *pk.ID {
				if r.ID == nil {
					r.ID = new(pk.ID)
				}
				return r.ID
			})
		case 5:
			fuzz(t, cells, fail, true, func(r *hidden) *pk.ID { return &r.ID })
		}
	})
}

// field returns the key in an embedded struct, which it makes.
func field(base **Base) *pk.ID {
	if *base == nil {
		*base = new(Base)
	}
	return &(*base).ID
}

// fuzz checks Fill for rows of type R, as structs or as pointers to them.
func fuzz[R any](t *testing.T, cells []byte, fail, pointers bool, key func(*R) *pk.ID) {
	structs := make([]R, len(cells))
	refs := make([]*R, len(cells))
	nilAt := -1
	for i, c := range cells {
		refs[i] = &structs[i]
		switch {
		case c == 0:
		case c == 1 && pointers:
			refs[i] = nil
			if nilAt < 0 {
				nilAt = i
			}
		case c == 2 && pointers && i > 0:
			refs[i] = refs[i-1]
		default:
			*key(refs[i]) = pk.ID(c)
		}
	}
	var rows any = structs
	if pointers {
		rows = refs
	}
	// The rule: rows without a key get the next ones, in order.
	want := make([]pk.ID, len(cells))
	empty, done := 0, make(map[*R]pk.ID)
	next := pk.ID(first)
	for i, r := range refs {
		if r == nil {
			continue
		}
		given := pk.ID(0)
		if c := cells[i]; c > 0 && (c > 2 || !pointers || i == 0 && c == 2) {
			given = pk.ID(c)
		}
		if id, ok := done[r]; ok {
			if id >= first {
				empty++
			}
			want[i] = id
			continue
		}
		if given == 0 {
			empty++
			given = next
			next++
		}
		done[r], want[i] = given, given
	}

	s := new(idtest.Source)
	if fail {
		s.Err = errors.ErrUnsupported
	}
	before := keys(refs, key)
	err := sqlid.New(s).Fill(t.Context(), rows)
	after := keys(refs, key)
	if nilAt >= 0 || fail && empty > 0 {
		e, ok := errors.AsType[*sqlid.RowError](err)
		if !ok || e.Row != nilAt {
			t.Fatalf("%T %v: %v, want row %d", rows, cells, err, nilAt)
		}
		if !reflect.DeepEqual(after, before) {
			t.Fatalf("%T %v: a failed call changed %v to %v", rows, cells, before, after)
		}
		return
	}
	if err != nil {
		t.Fatalf("%T %v: %v", rows, cells, err)
	}
	if !reflect.DeepEqual(after, want) {
		t.Fatalf("%T %v: %v, want %v", rows, cells, after, want)
	}
	if len(s.Asked) > 1 || (len(s.Asked) == 1) != (empty > 0) {
		t.Fatalf("%T %v: the source was asked for %v", rows, cells, s.Asked)
	}
}

// keys returns the key of every row.
func keys[R any](rows []*R, key func(*R) *pk.ID) []pk.ID {
	ids := make([]pk.ID, len(rows))
	for i, r := range rows {
		if r != nil {
			c := *r // looking must not make what is missing
			ids[i] = *key(&c)
		}
	}
	return ids
}
