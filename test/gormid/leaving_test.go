package gormid_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// In these tests, AutoMigrate creates tables with auto-increment, and a plan takes them
// off it. We then run AutoMigrate again.

type (
	// These are the old models.
	countedAuthor struct {
		ID    int64
		Name  string
		Books []countedBook `gorm:"foreignKey:AuthorID"`
	}
	countedBook struct {
		ID       int64
		AuthorID int64
	}

	// These are the old models as well, but with narrow keys.
	narrowAuthor struct {
		ID    int32
		Name  string
		Books []narrowBook `gorm:"foreignKey:AuthorID"`
	}
	narrowBook struct {
		ID       int32
		AuthorID int32
	}

	// These are the new models, using the tag.
	taggedAuthor struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Name  string
		Books []taggedBook `gorm:"foreignKey:AuthorID"`
	}
	taggedBook struct {
		ID       int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		AuthorID int64
	}

	// These are the new models, using the type.
	typedAuthor struct {
		ID    pk.ID
		Name  string
		Books []typedBook `gorm:"foreignKey:AuthorID"`
	}
	typedBook struct {
		ID       pk.ID
		AuthorID pk.ID
	}
)

func (countedAuthor) TableName() string { return "authors" }
func (countedBook) TableName() string   { return "books" }
func (narrowAuthor) TableName() string  { return "authors" }
func (narrowBook) TableName() string    { return "books" }
func (taggedAuthor) TableName() string  { return "authors" }
func (taggedBook) TableName() string    { return "books" }
func (typedAuthor) TableName() string   { return "authors" }
func (typedBook) TableName() string     { return "books" }

// A witness is a logger that records all statements that change something.
type witness struct {
	logger.Interface
	changes []string
}

func (w *witness) LogMode(logger.LogLevel) logger.Interface { return w }

func (w *witness) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	text, _ := statement()
	switch word, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(text)), " "); word {
	case "SELECT", "SHOW", "PRAGMA":
	default:
		w.changes = append(w.changes, text)
	}
}

// changes returns the changes that AutoMigrate makes.
func (e *env) changes(t *testing.T, models ...any) []string {
	t.Helper()
	w := &witness{Interface: logger.Discard}
	dbtest.NoError(t, e.Session(&gorm.Session{Logger: w}).AutoMigrate(models...))
	return w.changes
}

// GORM must neither remove auto-increment nor add it again. If a plan has widened keys and
// foreign keys, they must match the new models. If AutoMigrate has already recreated the
// children before the plan, it must not change anything afterwards.
func TestAutoMigrateOfLeavers(t *testing.T) {
	tagged, typed := []any{&taggedAuthor{}, &taggedBook{}}, []any{&typedAuthor{}, &typedBook{}}
	countedRow := func() any { return &countedAuthor{Name: "ada", Books: []countedBook{{}}} }
	narrowRow := func() any { return &narrowAuthor{Name: "ada", Books: []narrowBook{{}}} }
	for _, c := range []struct {
		name    string
		before  []any // the models that create the tables
		row     func() any
		migrate bool // before the plan
		options autoinc.PlanOptions
		models  []any
	}{
		{"tagged", []any{&countedAuthor{}, &countedBook{}}, countedRow, false, autoinc.PlanOptions{}, tagged},
		{"typed", []any{&countedAuthor{}, &countedBook{}}, countedRow, false, autoinc.PlanOptions{}, typed},
		{"typed, migrated before", []any{&countedAuthor{}, &countedBook{}}, countedRow, true, autoinc.PlanOptions{}, typed},
		{"widened", []any{&narrowAuthor{}, &narrowBook{}}, narrowRow, false, autoinc.PlanOptions{}, tagged},
		{"widened online", []any{&narrowAuthor{}, &narrowBook{}}, narrowRow, false, autoinc.PlanOptions{Online: true}, tagged},
	} {
		t.Run(c.name, func(t *testing.T) {
			reuse.Each(t, func(t *testing.T, db dbtest.DB) {
				if c.name == "typed" && db.Dialect == "sqlite" {
					return // see TestAutoMigrateMakesTablesAgain
				}
				e := bare(t, db, c.before...)
				must(t, e.Create(c.row()))
				if c.migrate {
					migrate(t, e.DB, c.models...)
				}
				idtest.Leave(t, e.conn.DB, c.options)
				if changes := e.changes(t, c.models...); changes != nil {
					t.Errorf("AutoMigrate ran %q", changes)
				}
				e.wantGuarded(t, "INSERT INTO authors (id, name) VALUES (2, 'small')", true)
				e.wantGuarded(t, "INSERT INTO books (id, author_id) VALUES (2, 1)", true)
				use(t, e.DB, gormid.Config{})
				if err := gormid.Check(t.Context(), e.DB, c.models...); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// On SQLite, using pk.ID turns foreign keys to it from integer into bigint. This makes
// no difference to SQLite itself, but GORM's driver recreates the child's table. It
// keeps the rows, but loses the triggers.
func TestAutoMigrateMakesTablesAgain(t *testing.T) {
	models := []any{&typedAuthor{}, &typedBook{}}
	e := left(t, dbtest.SQLite(t))
	if changes := e.changes(t, models...); len(changes) == 0 || !strings.Contains(changes[0], "books__temp") {
		t.Errorf("AutoMigrate ran %q", changes)
	}
	e.wantGuarded(t, "INSERT INTO authors (id, name) VALUES (2, 'small')", true)
	e.wantGuarded(t, "INSERT INTO books (id, author_id) VALUES (2, 1)", false)
	e.wantTable(t, "SELECT id, author_id FROM books ORDER BY id", "1 1", "2 1")
	if changes := e.changes(t, models...); changes != nil {
		t.Errorf("AutoMigrate ran again: %q", changes)
	}
	use(t, e.DB, gormid.Config{})
	if err := gormid.Check(t.Context(), e.DB, models...); err != nil {
		t.Error(err)
	}
}

// A model that we forgot to change must not add auto-increment back. Its inserts fail.
func TestAutoMigrateOfForgottenModels(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		e := left(t, db)
		models := []any{&countedAuthor{}, &countedBook{}}
		if changes := e.changes(t, models...); changes != nil {
			t.Errorf("AutoMigrate ran %q", changes)
		}
		if err := e.Create(&countedAuthor{Name: "forgotten"}).Error; err == nil {
			t.Error("a row without a key was accepted")
		}
		want := "blocker:not-counting:authors.id\nblocker:not-counting:books.id"
		if got := idtest.Findings(t, gormid.Check(t.Context(), e.DB, models...)); got != want {
			t.Errorf("found\n%s\nwant\n%s", got, want)
		}
		e.wantTable(t, "SELECT id, name FROM authors", "1 ada")
	})
}

// The new models must fill in the keys of new rows, next to rows with auto-increment
// keys.
func TestCreateInLeavers(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		e := left(t, db)
		use(t, e.DB, gormid.Config{Source: e.source, Models: []any{&typedAuthor{}, &typedBook{}}})
		old := typedAuthor{ID: 1}
		must(t, e.First(&old))
		row := typedAuthor{Name: "grace", Books: []typedBook{{}, {}}}
		must(t, e.Create(&row))
		must(t, e.Create(&typedBook{AuthorID: old.ID}))
		first := int64(row.ID)
		e.wantTable(t, "SELECT id FROM authors ORDER BY id", "1", line(first))
		e.wantTable(t, "SELECT id, author_id FROM books ORDER BY id", "1 1",
			line(int64(row.Books[0].ID), first), line(int64(row.Books[1].ID), first), line(int64(row.Books[1].ID)+1, 1))
	})
}

// left returns a database whose authors and books have been taken off auto-increment,
// with one row each.
func left(t *testing.T, db dbtest.DB) *env {
	t.Helper()
	e := bare(t, db, &countedAuthor{}, &countedBook{})
	must(t, e.Create(&countedAuthor{Name: "ada", Books: []countedBook{{}}}))
	idtest.Leave(t, e.conn.DB, autoinc.PlanOptions{})
	return e
}

func (e *env) wantGuarded(t *testing.T, insert string, guarded bool) {
	t.Helper()
	_, err := e.conn.DB.Exec(insert)
	if (err != nil) != guarded {
		t.Errorf("%s: %v, want an error: %v", insert, err, guarded)
	}
}
