package gormid_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// The database doesn't store these values in the form in which they are sent.
type (
	byDate struct {
		ID   pk.ID
		At   time.Time `gorm:"type:date;unique"`
		Name string    `gorm:"size:40"`
	}
	byMilli struct {
		ID   pk.ID
		At   time.Time `gorm:"precision:3;unique"`
		Name string    `gorm:"size:40"`
	}
	byAmount struct {
		ID   pk.ID
		At   float64 `gorm:"type:decimal(10,2);unique"`
		Name string  `gorm:"size:40"`
	}
	byShortFloat struct {
		ID   pk.ID
		At   float32 `gorm:"type:float;unique"`
		Name string  `gorm:"size:40"`
	}
	byChar struct {
		ID   pk.ID
		At   string `gorm:"type:char(8);unique"`
		Name string `gorm:"size:40"`
	}
)

func (byDate) TableName() string       { return "readings" }
func (byMilli) TableName() string      { return "readings" }
func (byAmount) TableName() string     { return "readings" }
func (byShortFloat) TableName() string { return "readings" }
func (byChar) TableName() string       { return "readings" }

// An upsert must find the row by the stored value of its unique column, for a single
// row as well as for several.
func TestUpsertOfStoredValues(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123_456_000, time.UTC)
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		testStored(t, about, "date", func(n int) byDate { return byDate{At: at.AddDate(0, 0, n), Name: fmt.Sprint(n)} }, func(r byDate) pk.ID { return r.ID })
		testStored(t, about, "milliseconds", func(n int) byMilli { return byMilli{At: at.AddDate(0, 0, n), Name: fmt.Sprint(n)} }, func(r byMilli) pk.ID { return r.ID })
		testStored(t, about, "decimal", func(n int) byAmount { return byAmount{At: 1.005 + float64(n), Name: fmt.Sprint(n)} }, func(r byAmount) pk.ID { return r.ID })
		testStored(t, about, "float", func(n int) byShortFloat { return byShortFloat{At: 0.1 + float32(n), Name: fmt.Sprint(n)} }, func(r byShortFloat) pk.ID { return r.ID })
		testStored(t, about, "char", func(n int) byChar { return byChar{At: fmt.Sprint("a", n), Name: fmt.Sprint(n)} }, func(r byChar) pk.ID { return r.ID })
	})
}

func testStored[T any](t *testing.T, about dbtest.DB, name string, make func(n int) T, id func(T) pk.ID) {
	t.Run(name, func(t *testing.T) {
		e := open(t, about, new(T))
		defer func() { must(t, e.Exec("DROP TABLE readings")) }()
		upsert := clause.OnConflict{Columns: []clause.Column{{Name: "at"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		first := []T{make(0), make(1)}
		must(t, e.Clauses(upsert).Create(&first))
		one := make(1)
		must(t, e.Clauses(upsert).Create(&one))
		if id(one) != id(first[1]) {
			t.Errorf("one row has the key %d, and the table %d", id(one), id(first[1]))
		}
		several := []T{make(2), make(1), make(0)}
		must(t, e.Clauses(upsert).Create(&several))
		if id(several[1]) != id(first[1]) || id(several[2]) != id(first[0]) {
			t.Errorf("several rows: %+v, the table has %+v", several, first)
		}
		e.wantTable(t, "SELECT id, name FROM readings ORDER BY id", line(id(first[0]), 0), line(id(first[1]), 1), line(id(several[0]), 2))
	})
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
					wantRowError(t, err, 0, "was merged into a row whose key is not known")
				} else if err != nil || row.ID != ada.ID {
					t.Errorf("the key is %d, and in the table %d: %v", row.ID, ada.ID, err)
				}
			})
		}
		e.wantTable(t, "SELECT id, name FROM mails", line(ada.ID, "Ada"))
	})
}

// If an upsert has a condition, it may leave a row unchanged, in which case the row is
// found by its value.
func TestConditionalUpsert(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		if about.Dialect == "mysql" {
			t.Skip("MySQL has no condition")
		}
		e := open(t, about, &account{})
		old := accounts("old taken -")[0]
		must(t, e.Create(&old))
		as := accounts("x taken -", "y new -")
		never := clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 0"}}}
		must(t, e.Clauses(clause.OnConflict{Columns: byEmail, DoUpdates: setName, Where: never}).Create(&as))
		if as[0].ID != old.ID || as[1].ID == 0 {
			t.Errorf("got %+v", as)
		}
		e.wantTable(t, "SELECT id, name FROM accounts ORDER BY id", line(old.ID, "old"), line(as[1].ID, "y"))
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
