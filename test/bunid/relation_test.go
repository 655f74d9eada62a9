package bunid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

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
