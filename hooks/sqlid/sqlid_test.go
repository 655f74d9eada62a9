package sqlid_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// The first two keys of a source. They are equal as float64.
const (
	first  = 1<<60 + 1
	second = 1<<60 + 2
)

// The ways to declare a key.
type (
	user    struct{ ID pk.ID }
	typed   struct{ ID pk.Of[typed] }
	text    struct{ ID pk.Text }
	sorted  struct{ ID pk.SortText }
	stringy struct{ ID pk.String }
	maybe   struct{ ID *pk.ID }

	number int64
	name   string
	tagged struct {
		Key int64 `snowkey:""`
	}
	raised struct {
		Key uint64 `snowkey:""`
	}
	word struct {
		Key int `snowkey:""`
	}
	written struct {
		Key string `snowkey:""`
	}
	named struct {
		Key number `snowkey:""`
	}
	called struct {
		Key name `snowkey:""`
	}
	pointed struct {
		Key *int64 `snowkey:""`
	}
	both struct {
		ID  pk.ID
		Key pk.ID `snowkey:""`
	}
	beside struct {
		UserID pk.ID `snowkey:"-"`
		ID     pk.ID
	}
	goctl struct{ Id pk.ID }
	twice struct {
		Id int64
		ID pk.ID
	}
	apart struct {
		ID  pk.ID `snowkey:"-"`
		Key pk.ID `snowkey:""`
	}
	textZero struct{ ID pk.String } // as after JSON with "id": 0

	Base    struct{ ID pk.ID }
	inner   struct{ ID pk.ID }
	byValue struct {
		Base
		Name string
	}
	byPointer struct {
		*Base
		Name string
	}
	hidden struct {
		inner
		Name string
	}
	nested struct {
		*deepened
	}
	deepened struct{ Base }
	Exported struct{ *Deep }
	Deep     struct{ Base }
	shadow   struct {
		Base
		ID pk.ID
	}
)

// keyed returns the keys of some rows as text.
func keyed(rows any) string { return fmt.Sprintf("%+v", rows) }

// Every way to declare a key is filled.
func TestFillKeys(t *testing.T) {
	for _, c := range []struct {
		row any // pointer to an empty one
		key func(row any) any
	}{
		{&user{}, func(r any) any { return r.(*user).ID }},
		{&typed{}, func(r any) any { return r.(*typed).ID }},
		{&text{}, func(r any) any { return r.(*text).ID }},
		{&sorted{}, func(r any) any { return r.(*sorted).ID.ID() }},
		{&stringy{}, func(r any) any { return r.(*stringy).ID }},
		{&maybe{}, func(r any) any { return *r.(*maybe).ID }},
		{&maybe{new(pk.ID)}, func(r any) any { return *r.(*maybe).ID }},
		{&tagged{}, func(r any) any { return r.(*tagged).Key }},
		{&raised{}, func(r any) any { return r.(*raised).Key }},
		{&word{}, func(r any) any { return r.(*word).Key }},
		{&written{}, func(r any) any { return r.(*written).Key }},
		{&named{}, func(r any) any { return r.(*named).Key }},
		{&called{}, func(r any) any { return r.(*called).Key }},
		{&pointed{}, func(r any) any { return *r.(*pointed).Key }},
		{&goctl{}, func(r any) any { return r.(*goctl).Id }},
		{&twice{}, func(r any) any { return r.(*twice).ID }},
		{&apart{}, func(r any) any { return r.(*apart).Key }},
		{&textZero{"0"}, func(r any) any { return r.(*textZero).ID }},
		{&byValue{}, func(r any) any { return r.(*byValue).ID }},
		{&byPointer{}, func(r any) any { return r.(*byPointer).ID }},
		{&byPointer{Base: new(Base)}, func(r any) any { return r.(*byPointer).ID }},
		{&hidden{}, func(r any) any { return r.(*hidden).ID }},
		{&Exported{}, func(r any) any { return r.(*Exported).ID }},
		{&nested{new(deepened)}, func(r any) any { return r.(*nested).ID }},
		{&shadow{}, func(r any) any { return r.(*shadow).ID }},
	} {
		s := new(idtest.Source)
		if err := sqlid.New(s).Fill(t.Context(), c.row); err != nil {
			t.Errorf("%T: %v", c.row, err)
			continue
		}
		if got := fmt.Sprint(c.key(c.row)); got != pk.ID(first).String() {
			t.Errorf("%T is filled with %s, want %d", c.row, got, pk.ID(first))
		}
		before := keyed(c.row)
		if err := sqlid.New(s).Fill(t.Context(), c.row); err != nil || len(s.Asked) != 1 {
			t.Errorf("%T, filled: %v, %d draws", c.row, err, len(s.Asked))
		}
		if after := keyed(c.row); after != before {
			t.Errorf("%T was %s and is %s", c.row, before, after)
		}
	}
	// Other fields are unchanged.
	apart, shadow := apart{}, shadow{}
	if err := errors.Join(sqlid.New(new(idtest.Source)).Fill(t.Context(), &apart), sqlid.New(new(idtest.Source)).Fill(t.Context(), &shadow)); err != nil {
		t.Error(err)
	}
	if apart.ID != 0 || shadow.Base.ID != 0 {
		t.Errorf("%+v, %+v: two fields are filled", apart, shadow)
	}
}

// Rows of every shape are filled by one draw, in order, and presets stay.
func TestFillShapes(t *testing.T) {
	fresh := func() []user { return []user{{}, {ID: 7}, {}} }
	pointers := func() []*user { return []*user{{}, {ID: 7}, {}} }
	slice, list, array, refs := fresh(), pointers(), [3]user(fresh()), [3]*user(pointers())
	slice2, list2 := fresh(), pointers()
	for _, c := range []struct {
		rows any
		read func() []pk.ID
	}{
		{slice, func() []pk.ID { return []pk.ID{slice[0].ID, slice[1].ID, slice[2].ID} }},
		{&slice2, func() []pk.ID { return []pk.ID{slice2[0].ID, slice2[1].ID, slice2[2].ID} }},
		{list, func() []pk.ID { return []pk.ID{list[0].ID, list[1].ID, list[2].ID} }},
		{&list2, func() []pk.ID { return []pk.ID{list2[0].ID, list2[1].ID, list2[2].ID} }},
		{&array, func() []pk.ID { return []pk.ID{array[0].ID, array[1].ID, array[2].ID} }},
		{&refs, func() []pk.ID { return []pk.ID{refs[0].ID, refs[1].ID, refs[2].ID} }},
		{refs, func() []pk.ID { return []pk.ID{refs[0].ID, refs[1].ID, refs[2].ID} }},
	} {
		for _, r := range refs {
			if r.ID != 7 {
				r.ID = 0
			}
		}
		s := new(idtest.Source)
		if err := sqlid.New(s).Fill(t.Context(), c.rows); err != nil {
			t.Errorf("%T: %v", c.rows, err)
			continue
		}
		if got, want := c.read(), []pk.ID{first, 7, second}; !reflect.DeepEqual(got, want) {
			t.Errorf("%T: %v, want %v", c.rows, got, want)
		}
		if !reflect.DeepEqual(s.Asked, []int{2}) {
			t.Errorf("%T: the source was asked for %v, want 2 once", c.rows, s.Asked)
		}
	}
	for _, rows := range []any{[]user(nil), []user{}, &[]*user{}, [0]user{}, &[0]user{}, []user{{ID: 7}}} {
		s := new(idtest.Source)
		if err := sqlid.New(s).Fill(t.Context(), rows); rows != any([0]user{}) && (err != nil || len(s.Asked) > 0) {
			t.Errorf("%T without anything to fill: %v, %d draws", rows, err, len(s.Asked))
		}
	}
	// A row that is in the list again keeps its key.
	twice := &user{}
	if err := sqlid.New(new(idtest.Source)).Fill(t.Context(), []*user{twice, twice}); err != nil || twice.ID != first {
		t.Errorf("twice the same row: %v, %v", twice, err)
	}
	again := &byPointer{Base: new(Base)}
	if err := sqlid.New(new(idtest.Source)).Fill(t.Context(), []*byPointer{again, {}, again}); err != nil || again.ID != first {
		t.Errorf("twice the same row with an embedded pointer: %v, %v", again, err)
	}
	// A shared struct that has its key fills no row.
	set := &Base{ID: 7}
	if err := sqlid.New(new(idtest.Source)).Fill(t.Context(), []byPointer{{Base: set}, {Base: set}}); err != nil || set.ID != 7 {
		t.Errorf("a shared struct with a key: %v, %v", set, err)
	}
	// Rows may share a pointer to a zero, but not a key.
	zero := new(pk.ID)
	shared := []maybe{{zero}, {zero}}
	if err := sqlid.New(new(idtest.Source)).Fill(t.Context(), shared); err != nil || *shared[0].ID != first || *shared[1].ID != second || *zero != 0 {
		t.Errorf("a shared pointer: %d, %d, %v", *shared[0].ID, *shared[1].ID, err)
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
		{&both{}, "ID", "would not be filled, because Key is tagged snowkey"},
		{&beside{}, "ID", "would be filled, and UserID is tagged snowkey:\"-\""},
		{&struct {
			A pk.ID `snowkey:""`
			B pk.ID `snowkey:"orders"`
		}{}, "B", "is tagged snowkey, and so is A"},
	} {
		for range 2 { // looked at once, refused each time
			err := sqlid.New(new(idtest.Source)).Fill(t.Context(), c.row)
			e, ok := errors.AsType[*sqlid.FieldError](err)
			if !ok || e.Field != c.field || e.Problem != c.problem || e.Remedy == "" || e.Model != reflect.TypeOf(c.row).Elem().String() {
				t.Errorf("%T: %v, want %q", c.row, err, c.problem)
			}
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
		{[]*byPointer{{Base: base}, {Base: new(Base)}, {Base: base}}, 2, "has its key ID in the same embedded struct as row 0"},
		{[]byPointer{{Base: base}, {Base: base}}, 1, "has its key ID in the same embedded struct as row 0"},
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
		before := keyed(c.rows)
		err := sqlid.New(s).Fill(t.Context(), c.rows)
		e, ok := errors.AsType[*sqlid.RowError](err)
		if !ok || e.Row != c.row || !strings.HasPrefix(e.Problem, c.problem) || e.Remedy == "" {
			t.Errorf("%T: %v, want row %d: %s", c.rows, err, c.row, c.problem)
		}
		if len(s.Asked) > 0 || keyed(c.rows) != before {
			t.Errorf("%T: %d draws, and the rows are %+v", c.rows, len(s.Asked), c.rows)
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
	cause := &idgen.ClockError{Behind: 7}
	s := new(idtest.Source)
	s.Err = cause
	rows := []byPointer{{}, {Base: &Base{ID: 7}}, {}}
	err := sqlid.New(s).Fill(t.Context(), rows)
	if e, ok := errors.AsType[*sqlid.RowError](err); !ok || e.Row != -1 || !errors.Is(err, cause) || e.Model != "sqlid_test.byPointer" {
		t.Errorf("got %v", err)
	}
	if rows[0].Base != nil || rows[1].ID != 7 || rows[2].Base != nil {
		t.Errorf("the rows are %+v", rows)
	}

	s.Err, s.Short = nil, 1
	if err := sqlid.New(s).Fill(t.Context(), rows); err == nil || rows[0].Base != nil {
		t.Errorf("a source that returns too few: %v, %+v", err, rows)
	}
}

func TestGenerators(t *testing.T) {
	type order struct {
		ID pk.ID `snowkey:"orders"`
	}
	idgen.SetDefault(nil)
	for _, row := range []any{&user{}, &order{}} {
		if err := sqlid.Fill(t.Context(), row); !errors.Is(err, idgen.ErrNoPool) {
			t.Errorf("%T without a pool: %v", row, err)
		}
	}
	pool, err := idgen.NewPool(idgen.Config{Worker: func(int) (int64, error) { return 601, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close(context.Background())
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	var u user
	var o, o2 order
	if err := errors.Join(sqlid.Fill(t.Context(), &u), sqlid.Fill(t.Context(), &o), sqlid.New(pool).Fill(t.Context(), &o2)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []pk.ID{u.ID, o.ID, o2.ID} {
		if worker := pool.Layout().Decode(id.Int64()).Worker; worker != 601 {
			t.Errorf("%d is by worker %d", id, worker)
		}
	}
	// The generator that the tag names has another sequence than the pool's own.
	if next, err := pool.Named("orders").Next(t.Context()); err != nil || next <= o2.ID.Int64() {
		t.Errorf("the generator goes on with %d after %d: %v", next, o2.ID, err)
	}

	err = sqlid.New(new(idtest.Source)).Fill(t.Context(), &order{})
	if e, ok := errors.AsType[*sqlid.FieldError](err); !ok || !strings.Contains(e.Problem, `names the generator "orders"`) {
		t.Errorf("a source without generators: %v", err)
	}
}

// Many goroutines use a type for the first time.
func TestConcurrent(t *testing.T) {
	type fresh struct {
		Base
		Name string
	}
	s := new(idtest.Source)
	f := sqlid.New(s)
	rows := make([][]fresh, 8)
	var wg sync.WaitGroup
	for i := range rows {
		rows[i] = make([]fresh, 100)
		wg.Go(func() {
			if err := f.Fill(t.Context(), rows[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := make(map[pk.ID]bool)
	for _, list := range rows {
		for i, r := range list {
			if seen[r.ID] || r.ID == 0 || i > 0 && r.ID <= list[i-1].ID {
				t.Fatalf("key %d is repeated, missing or not in order", r.ID)
			}
			seen[r.ID] = true
		}
	}
}
