package sqlid_test

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// The first two keys of a source. They are equal as float64.
const (
	first  = idtest.First
	second = idtest.First + 1
)

// The ways to declare a key: by its type, by a tag, and in embedded structs.
type (
	typed[K any]  struct{ ID K }
	tagged[K any] struct {
		Key K `snowkey:""`
	}
	user   = typed[pk.ID]
	number int64
	name   string

	goctl struct{ Id pk.ID }
	twice struct {
		Id int64
		ID pk.ID
	}
	apart struct {
		ID  pk.ID `snowkey:"-"`
		Key pk.ID `snowkey:""`
	}

	Base      struct{ ID pk.ID }
	inner     struct{ ID pk.ID }
	byValue   struct{ Base }
	byPointer struct{ *Base }
	hidden    struct{ inner }
	nested    struct{ *deepened }
	deepened  struct{ Base }
	Exported  struct{ *Deep }
	Deep      struct{ Base }
	shadow    struct {
		Base
		ID pk.ID
	}
)

// Every way to declare a key is filled, and keys that are set stay.
func TestFillKeys(t *testing.T) {
	for _, c := range []struct {
		row   any // pointer to an empty one
		field string
	}{
		{&user{}, "ID"},
		{&typed[pk.Of[user]]{}, "ID"},
		{&typed[pk.Text]{}, "ID"},
		{&typed[pk.SortText]{}, "ID"},
		{&typed[pk.String]{}, "ID"},
		{&typed[pk.String]{"0"}, "ID"}, // as after JSON with "id": 0
		{&typed[*pk.ID]{}, "ID"},
		{&typed[*pk.ID]{new(pk.ID)}, "ID"},
		{&tagged[int64]{}, "Key"},
		{&tagged[uint64]{}, "Key"},
		{&tagged[int]{}, "Key"},
		{&tagged[string]{}, "Key"},
		{&tagged[number]{}, "Key"},
		{&tagged[name]{}, "Key"},
		{&tagged[*int64]{}, "Key"},
		{&goctl{}, "Id"},
		{&twice{}, "ID"},
		{&apart{}, "Key"},
		{&byValue{}, "ID"},
		{&byPointer{}, "ID"},
		{&byPointer{new(Base)}, "ID"},
		{&hidden{}, "ID"},
		{&Exported{}, "ID"},
		{&nested{new(deepened)}, "ID"},
		{&shadow{}, "ID"},
	} {
		s := new(idtest.Source)
		for range 2 { // the second time, the key is set
			if err := sqlid.New(s).Fill(t.Context(), c.row); err != nil || len(s.Asked) != 1 {
				t.Fatalf("%T: %v, %d draws", c.row, err, len(s.Asked))
			}
			key := reflect.Indirect(reflect.ValueOf(c.row).Elem().FieldByName(c.field))
			if got, want := fmt.Sprint(key), fmt.Sprint(keytype.New(key.Type(), first)); got != want {
				t.Errorf("%T is filled with %s, want %s", c.row, got, want)
			}
		}
	}
	// Other fields are unchanged.
	apart, shadow := apart{}, shadow{}
	filler := sqlid.New(new(idtest.Source))
	if err := errors.Join(filler.Fill(t.Context(), &apart), filler.Fill(t.Context(), &shadow)); err != nil || apart.ID != 0 || shadow.Base.ID != 0 {
		t.Errorf("%+v, %+v: two fields are filled, or %v", apart, shadow, err)
	}
}

// Rows of every shape are filled by one draw, in order, and presets stay.
func TestFillShapes(t *testing.T) {
	fresh := func() []user { return []user{{}, {ID: 7}, {}} }
	pointers := func() []*user { return []*user{{}, {ID: 7}, {}} }
	for _, rows := range []any{fresh(), new(fresh()), pointers(), new(pointers()), new([3]user(fresh())), [3]*user(pointers()), new([3]*user(pointers()))} {
		s := new(idtest.Source)
		if err := sqlid.New(s).Fill(t.Context(), rows); err != nil || !reflect.DeepEqual(s.Asked, []int{2}) {
			t.Errorf("%T: %v, the source was asked for %v, want 2 once", rows, err, s.Asked)
		}
		for i, want := range []pk.ID{first, 7, second} {
			row := reflect.Indirect(reflect.Indirect(reflect.ValueOf(rows)).Index(i)).Interface().(user)
			if row.ID != want {
				t.Errorf("%T: row %d has %d, want %d", rows, i, row.ID, want)
			}
		}
	}
	for _, rows := range []any{[]user(nil), []user{}, &[]*user{}, &[0]user{}, []user{{ID: 7}}} {
		s := new(idtest.Source)
		if err := sqlid.New(s).Fill(t.Context(), rows); err != nil || len(s.Asked) > 0 {
			t.Errorf("%T without anything to fill: %v, %d draws", rows, err, len(s.Asked))
		}
	}

	fill := func(rows any) {
		t.Helper()
		if err := sqlid.New(new(idtest.Source)).Fill(t.Context(), rows); err != nil {
			t.Errorf("%T: %v", rows, err)
		}
	}
	// A row that is in the list again keeps its key.
	again, embedding := &user{}, &byPointer{new(Base)}
	fill([]*user{again, again})
	fill([]*byPointer{embedding, {}, embedding})
	// A shared struct that has its key fills no row.
	set := &Base{ID: 7}
	fill([]byPointer{{set}, {set}})
	if again.ID != first || embedding.ID != first || set.ID != 7 {
		t.Errorf("rows that are in a list again: %+v, %+v, %+v", again, embedding, set)
	}
	// Rows may share a pointer to a zero, but not a key.
	zero := new(pk.ID)
	shared := []typed[*pk.ID]{{zero}, {zero}}
	fill(shared)
	if *shared[0].ID != first || *shared[1].ID != second || *zero != 0 {
		t.Errorf("a shared pointer: %d, %d", *shared[0].ID, *shared[1].ID)
	}
}

func TestDeclarations(t *testing.T) {
	for _, c := range []struct {
		row     any
		field   string
		problem string
	}{
		{&struct{ Name string }{}, "", "has no key to fill"},
		{&struct{}{}, "", "has no key to fill"},
		{&struct{ ID int64 }{}, "ID", "is not known to be a key"},
		{&struct{ ID string }{}, "ID", "is not known to be a key"},
		{&struct {
			ID int32 `snowkey:""`
		}{}, "ID", "cannot hold a 64-bit key"},
		{&struct {
			ID **pk.ID `snowkey:""`
		}{}, "ID", "cannot hold a 64-bit key"},
		{&struct {
			Base `snowkey:""`
		}{}, "Base", "cannot hold a 64-bit key"},
		{&struct {
			ID sql.Null[pk.ID] `snowkey:""`
		}{}, "ID", "cannot hold a 64-bit key"},
		{&struct{ ID sql.Null[pk.ID] }{}, "ID", "cannot hold a 64-bit key"}, // a tag would not help
		{&struct {
			id pk.ID `snowkey:""`
		}{}, "id", "is not exported"},
		{&struct {
			pk.ID
			Name string
		}{}, "ID", "is embedded, so that JSON has the key in the place of the whole struct"},
		{&struct {
			ID  pk.ID
			Key pk.ID `snowkey:""`
		}{}, "ID", "would not be filled, because Key is tagged snowkey"},
		{&struct {
			UserID pk.ID `snowkey:"-"`
			ID     pk.ID
		}{}, "ID", "would be filled, and UserID is tagged snowkey:\"-\""},
		{&struct {
			A pk.ID `snowkey:""`
			B pk.ID `snowkey:"orders"`
		}{}, "B", "is tagged snowkey, and so is A"},
	} {
		for range 2 { // looked at once, refused each time
			idtest.WantFieldError(t, sqlid.New(new(idtest.Source)).Fill(t.Context(), c.row), c.field, c.problem)
		}
		// A wrong declaration is found even when there is nothing to fill.
		empty := reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(c.row)), 0, 0).Interface()
		if err := sqlid.Fill(t.Context(), empty); err == nil {
			t.Errorf("%T: no error", empty)
		}
	}
}

func TestRowsThatCannotBeFilled(t *testing.T) {
	type closed struct{ *inner }
	type open struct{ Exported }
	type half struct{ *hiddenBase }
	base, deep, under := new(Base), new(Deep), new(Exported)
	for _, c := range []struct {
		rows    any
		row     int
		problem string
	}{
		{nil, -1, "is nil"},
		{(*user)(nil), -1, "is nil"},
		{(*[]user)(nil), -1, "is nil"},
		{user{}, -1, "was passed by value"},
		{[2]user{}, -1, "was passed by value"},
		{[]*user{{}, nil}, 1, "is a nil pointer"},
		{new(new(user)), -1, "is not a struct"},
		{[]**user{}, -1, "is not a struct"},
		{[][]user{}, -1, "is not a struct"},
		{[]any{&user{}}, -1, "is not a struct"},
		{map[string]any{"id": 0}, -1, "is not a struct"},
		{[]*byPointer{{base}, {new(Base)}, {base}}, 2, "has its key ID in the same embedded struct as row 0"},
		{[]byPointer{{base}, {base}}, 1, "has its key ID in the same embedded struct as row 0"},
		{[]Exported{{deep}, {deep}}, 1, "has its key ID in the same embedded struct as row 0"},
		{[]underDeep{{}, {under}, {under}}, 2, "has its key ID in the same embedded struct as row 1"},
		{42, -1, "is not a struct"},
		{"user", -1, "is not a struct"},
		{[]closed{{}}, 0, "lacks its embedded *sqlid_test.inner"},
		{&half{}, -1, "lacks its embedded *sqlid_test.hiddenBase"},
		{&struct{ *Outer }{}, -1, "lacks its embedded *sqlid_test.inner"},
		{&struct{ *Outer }{&Outer{}}, -1, "lacks its embedded *sqlid_test.inner"},
		{[]struct {
			ID pk.ID `snowkey:"-"`
		}{{ID: 7}, {}}, 1, "has no key, and ID is tagged"},
		{&struct {
			UserID  pk.ID `snowkey:"-"`
			GroupID pk.ID `snowkey:"-"`
		}{GroupID: 7}, -1, "has no key, and UserID is tagged"},
	} {
		s := new(idtest.Source)
		before := fmt.Sprintf("%+v", c.rows)
		idtest.WantRowError(t, sqlid.New(s).Fill(t.Context(), c.rows), c.row, c.problem)
		if after := fmt.Sprintf("%+v", c.rows); len(s.Asked) > 0 || after != before {
			t.Errorf("%T: %d draws, and the rows %s are %s", c.rows, len(s.Asked), before, after)
		}
	}
	// An embedded struct that is set can be filled, exported or not.
	if row := (closed{&inner{}}); sqlid.New(new(idtest.Source)).Fill(t.Context(), &row) != nil || row.ID != first {
		t.Errorf("%+v", row)
	}
	if row := (open{}); sqlid.New(new(idtest.Source)).Fill(t.Context(), &row) != nil || row.ID != first {
		t.Errorf("%+v", row)
	}
}

type (
	underDeep  struct{ *Exported } // two pointers to the key
	hiddenBase struct{ *Deep }     // an exported pointer below one that is not
	Outer      struct{ *inner }
)

func TestSourceFails(t *testing.T) {
	s := &idtest.Source{Err: &idgen.ClockError{Behind: 7}}
	rows := []byPointer{{}, {&Base{ID: 7}}, {}}
	err := sqlid.New(s).Fill(t.Context(), rows)
	idtest.WantRowError(t, err, -1, "got no keys for 2 rows")
	if !errors.Is(err, s.Err) || !strings.HasPrefix(err.Error(), "sqlid: sqlid_test.byPointer ") {
		t.Errorf("got %v", err)
	}
	if rows[0].Base != nil || rows[1].ID != 7 || rows[2].Base != nil {
		t.Errorf("the rows are %+v", rows)
	}
	type order struct {
		ID pk.ID `snowkey:"orders"`
	}
	idtest.WantFieldError(t, sqlid.New(s).Fill(t.Context(), new(order)), "ID", `names the generator "orders"`)
}

// Many goroutines use a type for the first time.
func TestConcurrent(t *testing.T) {
	type fresh struct{ Base }
	f := sqlid.New(new(idtest.Source))
	rows := make([]fresh, 8)
	var wg sync.WaitGroup
	for i := range rows {
		wg.Go(func() {
			if err := f.Fill(t.Context(), &rows[i]); err != nil || rows[i].ID == 0 {
				t.Errorf("%v, %v", rows[i], err)
			}
		})
	}
	wg.Wait()
}

// Package fill tests what is a time.
func TestBackfill(t *testing.T) {
	type order struct {
		ID        pk.ID
		CreatedAt time.Time
	}
	b := errtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Worker: 900}))(t)
	day := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
	rows := []*order{{CreatedAt: day.Add(time.Hour)}, {ID: first}, {CreatedAt: day}, {CreatedAt: day}}
	errtest.NoError(t, sqlid.New(b).Fill(t.Context(), rows))
	timeOf := func(id pk.ID) time.Time { return b.Config().Layout.Decode(id.Int64()).Time }
	if !timeOf(rows[0].ID).Equal(day.Add(time.Hour)) || rows[1].ID != first || !timeOf(rows[2].ID).Equal(day) || rows[3].ID != rows[2].ID+1 {
		t.Errorf("%+v, %+v, %+v, %+v", rows[0], rows[1], rows[2], rows[3])
	}
	late := []order{{CreatedAt: day.Add(time.Hour)}, {ID: second}, {}}
	idtest.WantRowError(t, sqlid.New(b).Fill(t.Context(), late), 2, "has no time in CreatedAt")
	if late[0].ID != 0 {
		t.Errorf("the first row got the key %d", late[0].ID)
	}
}
