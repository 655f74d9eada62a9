package bunid_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// declarations lists keys that can't be filled in.
var declarations = []struct {
	key     any // its type is that of the field ID
	tag     string
	problem string
	only    string // the dialects to try this on; all if empty
}{
	{new(pk.ID), "", "is a pointer", ""},
	{int32(0), "", "cannot hold a 64-bit key", ""},
	{float64(0), "", "cannot hold a 64-bit key", ""},
	{pk.ID(0), "autoincrement", "is numbered by the database", ""},
	{pk.ID(0), "identity", "is numbered by the database", ""},
	{pk.ID(0), "type:bigserial", "is numbered by the database", ""},
	{pk.ID(0), "default:7", "has a default", ""},
	{pk.ID(0), "nullzero", "is left out by bun when it is zero", ""},
	{pk.ID(0), "type:real", "has a column that cannot hold every key (real)", ""},
	{pk.ID(0), "type:integer", "has a column that cannot hold every key (integer)", "postgres mysql"},
	{pk.ID(0), "type:decimal(10,0)", "has a column that cannot hold every key (decimal(10,0))", ""},
	{"", "type:varchar(10)", "has a column that cannot hold every key (varchar(10))", ""},
	{pk.SortText(0), "type:char(12)", "has a column that cannot hold every key (char(12))", ""},
	{pk.SortText(0), "", "is text in a column of numbers (", ""},
	{"", "type:char(20)", "has a column that pads the key with spaces (char(20))", "postgres"},
	{pk.Text(0), "type:bigint", "is text in a column of numbers (bigint)", ""},
	{"", "type:bigint", "is text in a column of numbers (bigint)", ""},
	{pk.ID(0), "type:varchar(20)", "is an integer in a column of text (varchar)", ""},
	{int64(0), "type:text", "is an integer in a column of text (text)", ""},
}

// The keys of these models can't be filled in either.
type (
	noKey struct {
		sourced
		N int
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

// TestDeclarations: a key that can't be filled in must be refused before an id is drawn.
func TestDeclarations(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about)
		for _, d := range declarations {
			if d.only == "" || strings.Contains(d.only, about.Dialect) {
				id := reflect.StructField{Name: "ID", Type: reflect.TypeOf(d.key), Tag: reflect.StructTag(`bun:",pk,` + d.tag + `"`)}
				row := reflect.New(reflect.StructOf([]reflect.StructField{id})).Interface()
				idtest.WantFieldError(t, bunid.FillRows(t.Context(), e, row, e.source), "ID ("+id.Type.String()+")", d.problem)
			}
		}
		for _, c := range []struct {
			model   any
			field   string
			problem string
		}{
			{&noKey{}, "", "has no primary key"},
			{&compositeKey{}, "A (pk.ID)", "is part of a composite key"},
			{&foreignKey{}, "UserID (pk.ID)", "is a foreign key"},
			{&untaggedKey{}, "ID (pk.ID)", `is tagged snowkey:"-"`},
		} {
			_, err := bunid.Use(bare(t, about).DB, c.model)
			idtest.WantFieldError(t, err, c.field, c.problem)
			_, err = e.NewInsert().Model(c.model).Exec(e.context(t))
			idtest.WantFieldError(t, err, c.field, c.problem)
		}
		if e.source.Calls() != 0 {
			t.Error("a key was drawn")
		}
	})
}

// TestForeignKeyByAnother: Use must notice if a key is declared as a foreign key by
// another model.
func TestForeignKeyByAnother(t *testing.T) {
	_, err := bunid.Use(bare(t, dbtest.SQLite(t)).DB, (*profile)(nil), (*profiled)(nil))
	idtest.WantFieldError(t, err, "UserID (pk.ID)", "is a foreign key by bunid_test.profiled.Profile")
	open(t, dbtest.SQLite(t), (*profiled)(nil))
}

type (
	writer struct {
		sourced
		ID     pk.ID   `bun:",pk"`
		Books  []*book `bun:"rel:has-many,join:id=writer_id"`
		Genres []genre `bun:"m2m:writer_genres,join:Writer=Genre"`
	}
	book struct {
		sourced
		ID       pk.ID `bun:",pk"`
		WriterID int64
	}
	genre struct {
		sourced
		ID pk.ID `bun:",pk"`
	}
	writerGenre struct {
		WriterID pk.ID   `bun:",pk"`
		Writer   *writer `bun:"rel:belongs-to,join:writer_id=id"`
		GenreID  int64   `bun:",pk"`
		Genre    *genre  `bun:"rel:belongs-to,join:genre_id=id"`
	}

	shelf struct {
		sourced
		ID    uint64     `bun:",pk"`
		Items []*shelved `bun:"rel:has-many,join:id=shelf_id"`
	}
	shelved struct {
		sourced
		ID      uint64 `bun:",pk"`
		ShelfID int64
	}

	goodWriter struct {
		bun.BaseModel `bun:"table:writers"`
		sourced
		ID    pk.ID       `bun:",pk"`
		Books []*goodBook `bun:"rel:has-many,join:id=writer_id"`
	}
	goodBook struct {
		bun.BaseModel `bun:"table:books"`
		sourced
		ID       pk.ID `bun:",pk"`
		WriterID *pk.ID
	}
)

// If a foreign key doesn't have the same type as the key, it must be refused, and the
// error must name both types.
func TestForeignKeyOfAnotherType(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	models := []any{(*writerGenre)(nil), (*writer)(nil), (*book)(nil), (*genre)(nil), (*shelf)(nil), (*shelved)(nil)}
	_, used := bunid.Use(e.DB, models...)
	for name, err := range map[string]error{"Use": used, "Check": bunid.Check(t.Context(), e.DB, models...)} {
		for _, want := range []string{
			"bunid_test.book.WriterID (int64) is of another type than bunid_test.writer.ID (pk.ID), to which it refers",
			"bunid_test.shelved.ShelfID (int64) is of another type than bunid_test.shelf.ID (uint64), to which it refers",
			"bunid_test.writerGenre.GenreID (int64) is of another type than bunid_test.genre.ID (pk.ID), to which it refers",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in %v", name, want, err)
			}
		}
		if _, ok := errors.AsType[*bunid.FieldError](err); !ok {
			t.Errorf("%s: no *FieldError: %v", name, err)
		}
	}
}

// To bun, a pointer to the type is the same type.
func TestForeignKeyPointer(t *testing.T) {
	e := open(t, dbtest.SQLite(t), (*goodWriter)(nil), (*goodBook)(nil))
	w := &goodWriter{}
	e.insert(t, w)
	e.insert(t, &goodBook{WriterID: &w.ID})
	var got goodWriter
	if err := e.NewSelect().Model(&got).Relation("Books").Scan(t.Context()); err != nil || len(got.Books) != 1 {
		t.Errorf("%d books: %v", len(got.Books), err)
	}
}
