package gormid_test

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// An imported row comes from another system, where it had the number Old.
type imported struct {
	ID        pk.ID
	Old       int64 `gorm:"uniqueIndex"`
	CreatedAt time.Time
	Lines     []importedLine
}

type importedLine struct {
	ID         pk.ID
	ImportedID pk.ID
	CreatedAt  sql.NullTime
}

func (imported) TableName() string { return "imports" }

// backfilled opens GORM with a plugin whose source is a backfill in a layout that began in
// 2020.
func backfilled(t *testing.T, about dbtest.DB) (*env, idgen.Layout) {
	t.Helper()
	layout := dbtest.Must(idgen.DefaultLayout().WithEpoch(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)))(t)
	e := bare(t, about, &imported{}, &importedLine{})
	use(t, e.DB, gormid.Config{Source: dbtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Layout: layout, Worker: 5}))(t)})
	return e, layout
}

// TestImport creates the rows of five years in batches. They sort by key as they sort by time.
func TestImport(t *testing.T) {
	total := 20_000
	if dbtest.Nightly {
		total = 1_000_000
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e, layout := backfilled(t, about)
		rows := make([]imported, 0, total)
		r := rand.New(rand.NewPCG(3, 4))
		at := layout.Epoch()
		step := 5 * 365 * 24 * time.Hour / time.Duration(total)
		for i := range total {
			if r.IntN(4) > 0 { // every fourth has the time of the row before it
				at = at.Add(time.Duration(r.Int64N(int64(2 * step))).Truncate(time.Microsecond))
			}
			rows = append(rows, imported{Old: int64(i), CreatedAt: at})
		}
		for batch := range slices.Chunk(rows, 500) {
			r.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
			must(t, e.Create(&batch))
		}

		last := imported{}
		n := 0
		cursor := dbtest.Must(e.Model(&imported{}).Order("id").Rows())(t)
		defer cursor.Close()
		for cursor.Next() {
			var next imported
			dbtest.NoError(t, e.ScanRows(cursor, &next))
			shown := layout.Decode(next.ID.Int64()).Time
			if next.CreatedAt.Before(last.CreatedAt) || next.ID <= last.ID || next.CreatedAt.Sub(shown).Abs() > time.Millisecond {
				t.Fatalf("%+v follows %+v; its key has the time %v", next, last, shown)
			}
			last = next
			n++
		}
		if err := cursor.Err(); err != nil || n != total {
			t.Fatalf("%d rows, %v", n, err)
		}

		// The rows of a year, page by page, as docs/layouts.md shows.
		from := layout.Epoch().AddDate(1, 2, 3)
		first, end := layout.Between(from, from.AddDate(1, 0, 0))
		want := slices.DeleteFunc(rows, func(row imported) bool {
			return row.CreatedAt.Before(from) || !row.CreatedAt.Before(from.AddDate(1, 0, 0))
		})
		got := 0
		for after := first - 1; ; {
			var page []imported
			must(t, e.Where("id BETWEEN ? AND ?", first, end).Where("id > ?", after).Order("id").Limit(1000).Find(&page))
			if len(page) == 0 {
				break
			}
			got, after = got+len(page), page[len(page)-1].ID.Int64()
		}
		if got != len(want) || got == 0 {
			t.Errorf("%d rows are of the year, want %d", got, len(want))
		}
	})
}

// Rows that have no time of their own are refused by their index, and nothing is inserted.
func TestBackfillWays(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e, layout := backfilled(t, about)
		day := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
		timeOf := func(id pk.ID) time.Time { return layout.Decode(id.Int64()).Time }

		one := imported{Old: 1, CreatedAt: day}
		must(t, e.Create(&one))
		lines := []importedLine{{CreatedAt: sql.NullTime{Time: day.Add(time.Hour), Valid: true}}, {CreatedAt: sql.NullTime{Time: day, Valid: true}}}
		parent := imported{Old: 2, CreatedAt: day, Lines: lines}
		must(t, e.Create(&parent))
		if !timeOf(one.ID).Equal(day) || parent.ID != one.ID+1 || !timeOf(parent.Lines[0].ID).Equal(day.Add(time.Hour)) || !timeOf(parent.Lines[1].ID).Equal(day) {
			t.Errorf("%+v, %+v", one, parent)
		}
		must(t, e.Model(&imported{}).Create([]map[string]any{{"Old": 3, "CreatedAt": day}, {"old": 4, "created_at": day}}))
		e.wantTable(t, "SELECT id FROM imports ORDER BY old", line(one.ID), line(one.ID+1), line(one.ID+2), line(one.ID+3))

		err := e.Create(&[]imported{{Old: 5, CreatedAt: day}, {ID: 1, Old: 6}, {Old: 7}}).Error
		idtest.WantRowError(t, err, 2, "has no time in CreatedAt")
		err = e.Model(&imported{}).Create([]map[string]any{{"Old": 5, "CreatedAt": day}, {"ID": 1, "Old": 6}, {"Old": 7}}).Error
		idtest.WantRowError(t, err, 2, "has no time in CreatedAt")
		e.wantTable(t, "SELECT count(*) FROM imports", "4")
	})
}
