package bunid_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

type (
	number int64

	// A keyed has a key of type K. The others have it in a column of the type in their
	// names.
	keyed[K any] struct {
		bun.BaseModel `bun:"table:keyed,alias:keyed"`
		sourced
		ID K `bun:",pk"`
		N  int
	}
	inBigint[K any] struct {
		bun.BaseModel `bun:"table:keyed,alias:keyed"`
		sourced
		ID K `bun:",pk,type:bigint"`
		N  int
	}
	inVarchar[K any] struct {
		bun.BaseModel `bun:"table:keyed,alias:keyed"`
		sourced
		ID K `bun:",pk,type:varchar(20)"`
		N  int
	}
	inChar[K any] struct {
		bun.BaseModel `bun:"table:keyed,alias:keyed"`
		sourced
		ID K `bun:",pk,type:char(13)"`
		N  int
	}
)

// TestKeyTypes: each type that can hold a key must actually do so, in a column that
// isn't numbered by the database.
func TestKeyTypes(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, c := range []struct {
			model  any
			column string // type of the column; bigint if empty
			stored func(id int64) string
		}{
			{new([]keyed[pk.Of[user]]), "", nil},
			{new([]keyed[int64]), "", nil},
			{new([]keyed[uint64]), "", nil},
			{new([]keyed[number]), "", nil},
			{new([]inBigint[pk.ID]), "", nil},
			{new([]inBigint[pk.String]), "", nil},
			{new([]inVarchar[pk.Text]), "char", nil},
			{new([]inVarchar[string]), "char", nil},
			{new([]inChar[pk.SortText]), "char", func(id int64) string { return pk.SortText(id).String() }},
		} {
			rows := reflect.ValueOf(c.model).Elem()
			typ := rows.Type().Elem()
			t.Run(typ.Name(), func(t *testing.T) {
				e := open(t, about, reflect.New(typ).Interface())
				table := e.Table(typ).Name
				defer e.exec(t, "DROP TABLE "+table)
				rows.Set(reflect.MakeSlice(rows.Type(), 3, 3))
				for i := range 3 {
					rows.Index(i).FieldByName("N").SetInt(int64(i))
				}
				if key := rows.Index(1).FieldByIndex(e.Table(typ).PKs[0].Index); key.Kind() == reflect.String {
					key.SetString("0") // this is what {"id":0} results in
				}
				last := e.source.Last()
				e.insert(t, c.model)
				var want []string
				for i := range 3 {
					text := fmt.Sprint(last + int64(i) + 1)
					if c.stored != nil {
						text = c.stored(last + int64(i) + 1)
					}
					want = append(want, line(text, i))
					key := rows.Index(i).FieldByIndex(e.Table(typ).PKs[0].Index)
					if got := fmt.Sprint(key.Interface()); got != text {
						t.Errorf("row %d has the key %s, want %s", i, got, text)
					}
				}
				e.wantTable(t, "SELECT id, n FROM "+table+" ORDER BY n", want...)

				back := reflect.New(rows.Type())
				dbtest.NoError(t, e.NewSelect().Model(back.Interface()).Order("n").Scan(t.Context()))
				if !reflect.DeepEqual(back.Elem().Interface(), rows.Interface()) {
					t.Errorf("read back %v, want %v", back.Elem(), rows)
				}
				e.wantColumn(t, table, c.column)
			})
		}
	})
}

// wantColumn checks the type of the column id, and that the database doesn't accept a
// row that has no id.
func (e *env) wantColumn(t *testing.T, table, text string) {
	t.Helper()
	query := "SELECT LOWER(CONCAT(data_type, ' ', is_nullable, ' ', COALESCE(column_default, ''))) FROM information_schema.columns WHERE column_name = 'id' AND table_name = '" + table + "'"
	switch e.about.Dialect {
	case "sqlite":
		query = "SELECT lower(type) FROM pragma_table_info('" + table + "') WHERE name = 'id'"
	case "mysql":
		query = strings.Replace(query, "COALESCE(column_default, '')", "extra", 1) + " AND table_schema = DATABASE()"
	}
	got := e.table(t, query)
	want := "bigint"
	if text != "" {
		want = text
	}
	if len(got) != 1 || !strings.Contains(got[0], want) && !(e.about.Dialect == "sqlite" && got[0] == "integer") ||
		strings.Contains(got[0], "auto_increment") || strings.Contains(got[0], "nextval") {
		t.Errorf("the column of %s is %q, want %s", table, got, want)
	}
	if e.about.Dialect == "sqlite" && got[0] == "integer" {
		return // an alias of the rowid, which SQLite always fills in
	}
	if _, err := e.conn.Exec("INSERT INTO " + table + " (n) VALUES (7)"); err == nil {
		t.Errorf("%s takes a row without a key", table)
	}
}

// These are models whose key can't be filled in.
type (
	noKey struct {
		sourced
		N int
	}
	numberedKey struct {
		sourced
		ID pk.ID `bun:",pk,autoincrement"`
	}
	identityKey struct {
		sourced
		ID pk.ID `bun:",pk,identity"`
	}
	serialKey struct {
		sourced
		ID pk.ID `bun:",pk,type:bigserial"`
	}
	defaultKey struct {
		sourced
		ID pk.ID `bun:",pk,default:7"`
	}
	nullzeroKey struct {
		sourced
		ID pk.ID `bun:",pk,nullzero"`
	}
	realKey struct {
		sourced
		ID pk.ID `bun:",pk,type:real"`
	}
	smallKey struct {
		sourced
		ID pk.ID `bun:",pk,type:integer"`
	}
	shortKey struct {
		sourced
		ID string `bun:",pk,type:varchar(10)"`
	}
	shortSortKey struct {
		sourced
		ID pk.SortText `bun:",pk,type:char(12)"`
	}
	intTextKey struct {
		sourced
		ID int64 `bun:",pk,type:text"`
	}
	paddedKey struct {
		sourced
		ID string `bun:",pk,type:char(20)"`
	}
	compositeKey struct {
		sourced
		A, B pk.ID `bun:",pk"`
	}
	foreignKey struct {
		sourced
		UserID pk.ID `bun:",pk"`
		User   *user `bun:"rel:belongs-to,join:user_id=id"`
	}
	untaggedKey struct {
		sourced
		ID pk.ID `bun:",pk" snowkey:"-"`
	}
	profile struct {
		sourced
		UserID pk.ID `bun:",pk"`
	}
	profiled struct {
		sourced
		ID      pk.ID    `bun:",pk"`
		Profile *profile `bun:"rel:has-one,join:id=user_id"`
	}
)

var declarations = []struct {
	model   any
	field   string
	problem string
	only    string // the dialects to try this on; all if empty
}{
	{&noKey{}, "", "has no primary key", ""},
	{&keyed[*pk.ID]{}, "ID (*pk.ID)", "is a pointer", ""},
	{&keyed[int32]{}, "ID (int32)", "cannot hold a 64-bit key", ""},
	{&keyed[float64]{}, "ID (float64)", "cannot hold a 64-bit key", ""},
	{&numberedKey{}, "ID (pk.ID)", "is numbered by the database", ""},
	{&identityKey{}, "ID (pk.ID)", "is numbered by the database", ""},
	{&serialKey{}, "ID (pk.ID)", "is numbered by the database", ""},
	{&defaultKey{}, "ID (pk.ID)", "has a default", ""},
	{&nullzeroKey{}, "ID (pk.ID)", "is left out by bun when it is zero", ""},
	{&realKey{}, "ID (pk.ID)", "has a column that cannot hold every key (real)", ""},
	{&smallKey{}, "ID (pk.ID)", "has a column that cannot hold every key (integer)", "postgres mysql"},
	{&shortKey{}, "ID (string)", "has a column that cannot hold every key (varchar(10))", ""},
	{&shortSortKey{}, "ID (pk.SortText)", "has a column that cannot hold every key (char(12))", ""},
	{&paddedKey{}, "ID (string)", "has a column that pads the key with spaces (char(20))", "postgres"},
	{&keyed[pk.SortText]{}, "ID (pk.SortText)", "has a column that cannot hold every key", ""},
	{&inBigint[pk.Text]{}, "ID (pk.Text)", "is text in a column of numbers (bigint)", ""},
	{&inBigint[string]{}, "ID (string)", "is text in a column of numbers (bigint)", ""},
	{&inVarchar[pk.ID]{}, "ID (pk.ID)", "is an integer in a column of text (varchar)", ""},
	{&intTextKey{}, "ID (int64)", "is an integer in a column of text (text)", ""},
	{&compositeKey{}, "A (pk.ID)", "is part of a composite key", ""},
	{&foreignKey{}, "UserID (pk.ID)", "is a foreign key", ""},
	{&untaggedKey{}, "ID (pk.ID)", `is tagged snowkey:"-"`, ""},
}

// TestDeclarations: a key that can't be filled in must be refused, both when the
// program starts and when a row is inserted.
func TestDeclarations(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		for _, c := range declarations {
			if c.only != "" && !strings.Contains(c.only, about.Dialect) {
				continue
			}
			t.Run(reflect.TypeOf(c.model).Elem().Name(), func(t *testing.T) {
				e := bare(t, about)
				_, err := bunid.Use(e.DB, c.model)
				wantFieldError(t, err, c.field, c.problem)
				_, err = e.NewInsert().Model(c.model).Exec(e.context(t))
				wantFieldError(t, err, c.field, c.problem)
				if e.source.Calls() != 0 {
					t.Error("a key was drawn")
				}
			})
		}
	})
}

// TestForeignKeyByAnother: Use must notice if a key is declared as a foreign key by
// another model.
func TestForeignKeyByAnother(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	_, err := bunid.Use(e.DB, (*profile)(nil), (*profiled)(nil))
	wantFieldError(t, err, "UserID (pk.ID)", "is a foreign key by bunid_test.profiled.Profile")
	if _, err := bunid.Use(bare(t, dbtest.SQLite(t)).DB, (*profiled)(nil)); err != nil {
		t.Error(err)
	}
}

func wantFieldError(t testing.TB, err error, field, problem string) {
	t.Helper()
	e, ok := errors.AsType[*bunid.FieldError](err)
	if !ok {
		t.Fatalf("got %v, want a *FieldError", err)
	}
	got := e.Field
	if e.Type != "" {
		got += " (" + e.Type + ")"
	}
	if got != field || !strings.Contains(e.Problem, problem) || e.Remedy == "" || !strings.HasPrefix(e.Model, "bunid_test.") {
		t.Errorf("got %+v, want field %q and problem %q", *e, field, problem)
	}
}

var _ bun.BeforeInsertHook = (*noKey)(nil)
