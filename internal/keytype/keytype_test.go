package keytype_test

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

type (
	user     struct{}
	number   int64
	unsigned uint64
	text     string
)

func (user) Prefix() string { return "user" }

func TestTypes(t *testing.T) {
	words := strconv.IntSize == 64
	for _, c := range []struct {
		zero        any
		isPK, holds bool
	}{
		{pk.ID(0), true, true},
		{pk.Text(0), true, true},
		{pk.SortText(0), true, true},
		{pk.String(""), true, true},
		{pk.Of[user](0), true, true},
		{pk.Prefixed[user](0), true, true},
		{public.ID[user](0), true, true},
		{pk.Error{}, false, false},
		{public.Key{}, false, false},
		{int64(0), false, true},
		{uint64(0), false, true},
		{"", false, true},
		{number(0), false, true},
		{unsigned(0), false, true},
		{text(""), false, true},
		{0, false, words},
		{uint(0), false, words},
		{int32(0), false, false},
		{uint32(0), false, false},
		{uintptr(0), false, false},
		{float64(0), false, false},
		{false, false, false},
		{[]byte(nil), false, false},
		{new(pk.ID), false, false},
		{user{}, false, false},
		{time.Time{}, false, false},
	} {
		typ := reflect.TypeOf(c.zero)
		if got := keytype.IsPK(typ); got != c.isPK {
			t.Errorf("IsPK(%v) = %v", typ, got)
		}
		if got := keytype.Holds(typ); got != c.holds {
			t.Errorf("Holds(%v) = %v", typ, got)
		}
		if !c.holds {
			continue
		}
		v := reflect.New(typ).Elem()
		if keytype.Set(v, 0); !keytype.Empty(v) { // also the text "0", which {"id":0} results in
			t.Errorf("a %v set to 0 is not empty", typ)
		}
		for _, id := range []int64{1, 1<<53 + 1, 1<<53 + 2, math.MaxInt64 - 1, math.MaxInt64} {
			keytype.Set(v, id)
			want := strconv.FormatInt(id, 10)
			switch typ {
			case reflect.TypeFor[pk.SortText]():
				want = pk.SortText(id).String()
			case reflect.TypeFor[pk.Prefixed[user]]():
				want = "user_" + pk.SortText(id).String()
			case reflect.TypeFor[public.ID[user]]():
				want = public.ID[user](id).String()
			}
			if got := fmt.Sprint(v.Interface()); got != want {
				t.Errorf("a %v set to %d is %s", typ, id, got)
			}
		}
	}
}

func TestPointers(t *testing.T) {
	zero := new(pk.ID)
	rows := [3]*pk.ID{zero, zero, nil}
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		if !keytype.Empty(v) {
			t.Errorf("row %d is not empty", i)
		}
		keytype.Set(v, int64(i)+1)
		if keytype.Empty(v) || *rows[i] != pk.ID(i+1) {
			t.Errorf("row %d has %v", i, rows[i])
		}
	}
	if *zero != 0 {
		t.Errorf("Set wrote through the shared pointer: %d", *zero)
	}
	if v := keytype.New(reflect.TypeFor[*pk.ID](), 9).Interface(); *v.(*pk.ID) != 9 {
		t.Errorf("New made %v", v)
	}
}

func TestTextSize(t *testing.T) {
	for _, c := range []struct {
		zero any
		size int
	}{
		{pk.ID(0), 0},
		{pk.Of[user](0), 0},
		{pk.Prefixed[user](0), 0},
		{public.ID[user](0), 0},
		{pk.String(""), 0},
		{int64(0), 0},
		{unsigned(0), 0},
		{pk.Text(0), 19},
		{pk.SortText(0), 13},
		{text(""), 19},
	} {
		if got := keytype.TextSize(reflect.TypeOf(c.zero)); got != c.size {
			t.Errorf("the longest %T has %d characters, want %d", c.zero, got, c.size)
		}
	}
}
