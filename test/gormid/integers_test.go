package gormid_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

type (
	shop struct {
		gorm.Model
		Name  string `gorm:"size:40"`
		Sales []sale
	}
	sale struct {
		ID     int64
		ShopID uint
		Lines  []receiptLine `gorm:"foreignKey:SaleID"`
	}
	receiptLine struct {
		Number uint64 `gorm:"primaryKey"`
		SaleID int64
	}
	counted struct {
		ID   uint
		Name string `gorm:"size:40"`
	}
	told struct {
		ID   uint   `gorm:"autoIncrement"`
		Name string `gorm:"size:40"`
	}
	listed struct {
		ID   uint   `gorm:"primaryKey;autoIncrement"`
		Name string `gorm:"size:40"`
	}
	typed struct {
		ID   uint   `gorm:"type:bigint;not null"`
		Name string `gorm:"size:40"`
	}
	small struct {
		ID   int32
		Name string `gorm:"size:40"`
	}
)

// warnings is a logger that records all warnings.
type warnings struct {
	logger.Interface
	mu   sync.Mutex
	text []string
}

func (w *warnings) Warn(_ context.Context, text string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, fmt.Sprintf(text, args...))
}

func (w *warnings) Error(ctx context.Context, text string, args ...any) { w.Warn(ctx, text, args...) }

// FillIntegers fills in keys without any changes to the models, and AutoMigrate creates
// columns that don't count.
func TestFillIntegers(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about)
		models := []any{&shop{}, &sale{}, &receiptLine{}, &listed{}, &typed{}}
		use(t, e.DB, gormid.Config{Source: e.source, FillIntegers: true, Models: models, Counting: []any{&counted{}}})
		migrate(t, e.DB, append(models, &counted{}, &told{}, &small{}, &listed{})...)
		rows := []shop{{Name: "a", Sales: []sale{{Lines: []receiptLine{{}, {}}}, {}}}, {Name: "b"}}
		must(t, e.Create(&rows))
		if rows[0].ID == 0 || rows[1].ID != rows[0].ID+1 || rows[0].Sales[0].ShopID != rows[0].ID || rows[0].Sales[0].Lines[1].SaleID != rows[0].Sales[0].ID {
			t.Errorf("got %+v", rows)
		}
		e.wantTable(t, "SELECT id, name FROM shops ORDER BY id", line(rows[0].ID, "a"), line(rows[1].ID, "b"))
		e.wantTable(t, "SELECT id, shop_id FROM sales ORDER BY id", line(rows[0].Sales[0].ID, rows[0].ID), line(rows[0].Sales[1].ID, rows[0].ID))
		e.wantTable(t, "SELECT number, sale_id FROM receipt_lines ORDER BY number",
			line(rows[0].Sales[0].Lines[0].Number, rows[0].Sales[0].ID), line(rows[0].Sales[0].Lines[1].Number, rows[0].Sales[0].ID))
		must(t, e.Create(&listed{Name: "l"})) // Models counts for more than the tag
		must(t, e.Create(&typed{Name: "t"}))
		for _, id := range e.table(t, "SELECT id FROM shops UNION SELECT number FROM receipt_lines UNION SELECT id FROM listeds UNION SELECT id FROM typeds") {
			if len(id) < 16 {
				t.Errorf("the key %s was counted", id)
			}
		}
		// On SQLite, an integer primary key counts, so Check refuses it. A bigint doesn't.
		for table, model := range map[string]any{"shops": &shop{}, "listeds": &listed{}, "typeds": &typed{}} {
			counts := about.Dialect == "sqlite" && table != "typeds"
			if _, err := e.conn.Exec("INSERT INTO " + table + " (name) VALUES ('no key')"); (err == nil) != counts {
				t.Errorf("an INSERT into %s without a key: %v", table, err)
			}
			if err := gormid.Check(t.Context(), e.DB, model); (err != nil) != counts {
				t.Errorf("Check of %s: %v", table, err)
			}
		}
		must(t, e.Create(&counted{Name: "c"}))
		must(t, e.Create(&told{Name: "t"}))
		must(t, e.Create(&small{Name: "s"}))
		for _, table := range []string{"counteds", "tolds", "smalls"} {
			e.wantTable(t, "SELECT id FROM "+table, "1")
		}
		if changes := e.changes(t, models...); changes != nil {
			t.Errorf("the second migration finds something to alter: %q", changes)
		}
	})
}

type (
	ownerOf[C any] struct {
		ID       uint
		Children []C `gorm:"foreignKey:Parent"`
	}
	typedChild struct {
		ID     int64
		Parent int32
	}
	sizedChild struct {
		ID     int64
		Parent uint `gorm:"size:32"`
	}
)

// A foreign key must be refused if its type or its column is too small for a key that gets
// filled in.
func TestFillIntegersForeignKey(t *testing.T) {
	for problem, model := range map[string]any{"cannot hold the key": &ownerOf[typedChild]{}, "is too narrow for the key": &ownerOf[sizedChild]{}} {
		e := bare(t, dbtest.SQLite(t))
		err := e.Use(gormid.New(gormid.Config{Source: e.source, FillIntegers: true, Models: []any{model}}))
		idtest.WantFieldError(t, err, "Parent", problem)
	}
}

// A model that continues to count must be named in the log, but only once.
func TestCountingIsLogged(t *testing.T) {
	e := bare(t, dbtest.SQLite(t), &shop{}, &sale{}, &receiptLine{}, &counted{}, &told{}, &small{})
	log := &warnings{Interface: logger.Discard}
	e.DB.Config.Logger = log
	use(t, e.DB, gormid.Config{Source: e.source, Counting: []any{counted{}}})
	for range 2 {
		must(t, e.Create(&shop{}))
		must(t, e.Create(&counted{}))
		must(t, e.Create(&told{}))
		must(t, e.Create(&small{}))
	}
	if len(log.text) != 1 || !strings.Contains(log.text[0], "shop.ID (uint) is not filled") || !strings.Contains(log.text[0], "gormid.Model") {
		t.Errorf("got %q", log.text)
	}
}
