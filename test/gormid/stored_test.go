package gormid_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// A reading is unique in a value that the database doesn't store in the form in which it is
// sent.
type reading[V any] struct {
	ID   pk.ID
	At   V
	Name string
}

func (reading[V]) TableName() string { return "readings" }

// An upsert must find the row by the stored value of its unique column, for a single
// row as well as for several.
func TestUpsertOfStoredValues(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123_456_000, time.UTC)
	day := func(n int) time.Time { return at.AddDate(0, 0, n) }
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		milliseconds := map[string]string{"postgres": "timestamptz(3)", "mysql": "datetime(3)", "sqlite": "datetime"}[about.Dialect]
		t.Run("date", func(t *testing.T) { testStored(t, about, "date", day) })
		t.Run("milliseconds", func(t *testing.T) { testStored(t, about, milliseconds, day) })
		t.Run("decimal", func(t *testing.T) {
			testStored(t, about, "decimal(10,2)", func(n int) float64 { return 1.005 + float64(n) })
		})
		t.Run("float", func(t *testing.T) { testStored(t, about, "float", func(n int) float32 { return 0.1 + float32(n) }) })
		t.Run("char", func(t *testing.T) { testStored(t, about, "char(8)", func(n int) string { return fmt.Sprint("a", n) }) })
	})
}

func testStored[V any](t *testing.T, about dbtest.DB, column string, value func(n int) V) {
	e := open(t, about)
	dbtest.Exec(t, e.conn.DB, "CREATE TABLE readings (id BIGINT PRIMARY KEY, at "+column+" UNIQUE, name VARCHAR(40))")
	defer e.Exec("DROP TABLE readings")
	row := func(n int) reading[V] { return reading[V]{At: value(n), Name: fmt.Sprint(n)} }
	upsert := e.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "at"}}, DoUpdates: setName}).Session(&gorm.Session{})
	first, one, several := []reading[V]{row(0), row(1)}, row(1), []reading[V]{row(2), row(1), row(0)}
	for _, rows := range []any{&first, &one, &several} {
		must(t, upsert.Create(rows))
	}
	a, b, c := first[0].ID, first[1].ID, several[0].ID
	if one.ID != b || several[1].ID != b || several[2].ID != a {
		t.Errorf("one row has the key %d, several rows have %+v, and the table has %d and %d", one.ID, several, a, b)
	}
	e.wantTable(t, "SELECT id, name FROM readings ORDER BY id", line(a, 0), line(b, 1), line(c, 2))
}

// Here the database computes the unique column, or the index contains an expression. If
// the INSERT returns keys, it must still be possible to find a single row.
func TestUpsertOfComputedValues(t *testing.T) {
	type mail struct {
		ID    pk.ID
		Email string `gorm:"size:40"`
		Lower string `gorm:"->;type:varchar(40) GENERATED ALWAYS AS (lower(email)) STORED;unique"`
		Name  string `gorm:"size:40"`
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := open(t, about, &mail{})
		upsert := func(on clause.OnConflict, row *mail) error {
			on.DoUpdates = clause.AssignmentColumns([]string{"name"})
			return e.Clauses(on).Create(row).Error
		}
		ada := mail{Email: "Ada@example.org", Name: "Ada"}
		must(t, e.Create(&ada))
		on := map[string]clause.OnConflict{"generated column": {Columns: []clause.Column{{Name: "lower"}}}}
		if about.Dialect == "postgres" {
			must(t, e.Exec("ALTER TABLE mails ADD CONSTRAINT mails_name UNIQUE (name)"))
			must(t, e.Exec("CREATE UNIQUE INDEX ON mails (upper(email))"))
			on["constraint"] = clause.OnConflict{OnConstraint: "mails_name"}
			on["expression"] = clause.OnConflict{Columns: []clause.Column{{Name: "upper(email)", Raw: true}}}
		}
		for name, on := range on {
			t.Run(name, func(t *testing.T) {
				row := mail{Email: "ADA@example.org", Name: "Ada"}
				if name == "constraint" {
					row.Email = "other@example.org"
				}
				err := upsert(on, &row)
				if about.Dialect == "mysql" && !about.MariaDB {
					idtest.WantRowError(t, err, 0, "was merged into a row whose key is not known")
				} else if err != nil || row.ID != ada.ID {
					t.Errorf("the key is %d, and in the table %d: %v", row.ID, ada.ID, err)
				}
			})
		}
		e.wantTable(t, "SELECT id, name FROM mails", line(ada.ID, "Ada"))
	})
}

// A CHAR column pads the key with spaces, which must not end up in memory.
func TestPaddedKey(t *testing.T) {
	type padded struct {
		ID    string `gorm:"primaryKey;type:char(20);snowkey"`
		Email string `gorm:"size:40;unique"`
		Name  string `gorm:"size:40"`
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := open(t, about, &padded{})
		first := padded{Email: "a", Name: "1"}
		must(t, e.Create(&first))
		some := []padded{{Email: "a"}, {Email: "b"}}
		must(t, e.Clauses(doNothing).Create(&some))
		if some[0].ID != "" || len(some[1].ID) != 19 {
			t.Errorf("left out and inserted: %+v", some)
		}
		upsert := clause.OnConflict{Columns: byEmail, DoUpdates: setName}
		one, more := padded{Email: "a"}, []padded{{Email: "b"}, {Email: "c"}}
		must(t, e.Clauses(upsert).Create(&one))
		must(t, e.Clauses(upsert).Create(&more))
		if one.ID != first.ID || more[0].ID != some[1].ID || len(more[1].ID) != 19 {
			t.Errorf("merged into %+v and %+v: %+v, %+v", first, some[1], one, more)
		}
	})
}
