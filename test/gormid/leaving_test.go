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
	// The old models have integers as keys, and the new ones pk.ID.
	leavingAuthor[K any] struct {
		ID    K
		Name  string
		Books []leavingBook[K] `gorm:"foreignKey:AuthorID"`
	}
	leavingBook[K any] struct {
		ID       K
		AuthorID K
	}

	// Or the new models have the tag.
	taggedAuthor struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Name  string
		Books []taggedBook `gorm:"foreignKey:AuthorID"`
	}
	taggedBook struct {
		ID       int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		AuthorID int64
	}
)

func (leavingAuthor[K]) TableName() string { return "authors" }
func (leavingBook[K]) TableName() string   { return "books" }
func (taggedAuthor) TableName() string     { return "authors" }
func (taggedBook) TableName() string       { return "books" }

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
	counted, narrow := []any{&leavingAuthor[int64]{}, &leavingBook[int64]{}}, []any{&leavingAuthor[int32]{}, &leavingBook[int32]{}}
	tagged, typed := []any{&taggedAuthor{}, &taggedBook{}}, []any{&leavingAuthor[pk.ID]{}, &leavingBook[pk.ID]{}}
	for _, c := range []struct {
		name    string
		before  []any // the models that create the tables
		migrate bool  // before the plan
		options autoinc.PlanOptions
		models  []any
		found   string
	}{
		{"tagged", counted, false, autoinc.PlanOptions{}, tagged, ""},
		{"typed", counted, false, autoinc.PlanOptions{}, typed, ""},
		{"typed, migrated before", counted, true, autoinc.PlanOptions{}, typed, ""},
		{"widened", narrow, false, autoinc.PlanOptions{}, tagged, ""},
		{"widened online", narrow, false, autoinc.PlanOptions{Online: true}, tagged, ""},
		{"forgotten", counted, false, autoinc.PlanOptions{}, counted, "blocker:not-counting:authors.id\nblocker:not-counting:books.id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reuse.Each(t, func(t *testing.T, db dbtest.DB) {
				e := bare(t, db, c.before...)
				dbtest.Exec(t, e.conn.DB, "INSERT INTO authors (name) VALUES ('ada')", "INSERT INTO books (author_id) VALUES (1)")
				if c.migrate {
					migrate(t, e.DB, c.models...)
				}
				idtest.Leave(t, e.conn.DB, c.options)
				guarded := []string{
					"INSERT INTO authors (name) VALUES ('no key')", "INSERT INTO authors (id, name) VALUES (2, 'small')",
					"INSERT INTO books (id, author_id) VALUES (2, 1)",
				}
				changes := e.changes(t, c.models...)
				if c.name == "typed" && db.Dialect == "sqlite" {
					// Foreign keys turn from integer into bigint. This makes no difference to
					// SQLite itself, but GORM's driver recreates the child's table, which
					// keeps its rows and loses its triggers.
					if len(changes) == 0 || !strings.Contains(changes[0], "books__temp") {
						t.Errorf("AutoMigrate ran %q", changes)
					}
					e.wantTable(t, "SELECT id, author_id FROM books", "1 1")
					changes, guarded = e.changes(t, c.models...), guarded[:2]
				}
				if changes != nil {
					t.Errorf("AutoMigrate ran %q", changes)
				}
				for _, insert := range guarded {
					if _, err := e.conn.Exec(insert); err == nil {
						t.Errorf("%s was accepted", insert)
					}
				}
				use(t, e.DB, gormid.Config{})
				if got := idtest.Findings(t, gormid.Check(t.Context(), e.DB, c.models...)); got != c.found {
					t.Errorf("found\n%s\nwant\n%s", got, c.found)
				}
			})
		})
	}
}
