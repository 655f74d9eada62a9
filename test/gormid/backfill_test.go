package gormid_test

import (
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
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

// leases returns a store in the database of a test.
func leases(e *env) lease.Store {
	switch e.about.Dialect {
	case "postgres":
		return sqlstore.Postgres(e.conn.DB)
	case "mysql":
		return sqlstore.MySQL(e.conn.DB)
	default:
		return sqlstore.SQLite(e.conn.DB)
	}
}

// backfilled opens GORM with a plugin whose source is a backfill of the name "orders", in a
// layout that began in 2020.
func backfilled(t *testing.T, about dbtest.DB) (*env, snowkey.Config) {
	t.Helper()
	cfg := snowkey.Config{Layout: dbtest.Must(idgen.DefaultLayout().WithEpoch(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)))(t),
		MaxWorker: 1000, Window: time.Second, MaxClockSkew: 100 * time.Millisecond}
	e := bare(t, about, &imported{}, &importedLine{})
	use(t, e.DB, gormid.Config{Source: openBackfill(t, e, cfg)})
	return e, cfg
}

// openBackfill returns the backfill "orders". The MariaDB server of the tests doesn't flush
// commits, so there it has a number that no process can lease.
func openBackfill(t *testing.T, e *env, cfg snowkey.Config) *idgen.Backfill {
	t.Helper()
	b, err := snowkey.OpenBackfill(t.Context(), leases(e), cfg, "orders")
	if _, refused := errors.AsType[*lease.PermanentError](err); refused && e.about.Dialect == "mysql" {
		b, err = idgen.NewBackfill(idgen.BackfillConfig{Layout: cfg.Layout, Worker: cfg.MaxWorker + 1})
	}
	dbtest.NoError(t, err)
	return b
}

// TestImport creates the rows of five years in batches, beside a process that makes ids of
// now. The rows sort by key as they sort by time, and a repetition gives the same keys.
func TestImport(t *testing.T) {
	total := 20_000
	if dbtest.Nightly {
		total = 1_000_000
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e, cfg := backfilled(t, about)
		pool := dbtest.Must(snowkey.Open(t.Context(), leases(e), cfg))(t)
		t.Cleanup(func() { pool.Close(t.Context()) })

		const batch = 500
		rows := make([]imported, 0, total)
		r := rand.New(rand.NewPCG(3, 4))
		at := cfg.Layout.Epoch()
		step := 5 * 365 * 24 * time.Hour / time.Duration(total)
		for i := range total {
			if r.IntN(4) > 0 { // every fourth has the time of the row before it
				at = at.Add(time.Duration(r.Int64N(int64(2 * step))).Truncate(time.Microsecond))
			}
			rows = append(rows, imported{Old: int64(i), CreatedAt: at})
		}
		for batch := range slices.Chunk(rows, batch) {
			r.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
			must(t, e.DB.Create(&batch))
		}
		live := dbtest.Must(pool.NextN(t.Context(), 2))(t)
		must(t, e.DB.Create(&[]imported{{ID: pk.ID(live[0]), Old: -1, CreatedAt: time.Now()}, {ID: pk.ID(live[1]), Old: -2, CreatedAt: time.Now()}}))

		e.wantTable(t, "SELECT count(*) FROM imports", line(total+2))
		last := imported{}
		n := 0
		found := e.DB.Model(&imported{}).Order("id").Limit(total)
		cursor := dbtest.Must(found.Rows())(t)
		defer cursor.Close()
		for cursor.Next() {
			var next imported
			dbtest.NoError(t, e.DB.ScanRows(cursor, &next))
			shown := cfg.Layout.Decode(next.ID.Int64()).Time
			if next.CreatedAt.Before(last.CreatedAt) || next.ID <= last.ID || next.CreatedAt.Sub(shown).Abs() > time.Millisecond {
				t.Fatalf("%+v follows %+v; its key has the time %v", next, last, shown)
			}
			last = next
			n++
		}
		if err := cursor.Err(); err != nil || n != total {
			t.Fatalf("%d rows, %v", n, err)
		}
		cursor.Close()

		// Part of the import is repeated from the start, with another plugin.
		again := openBackfill(t, e, cfg)
		for part := range slices.Chunk(rows[:4*batch], batch) {
			times := make([]time.Time, batch)
			for i, row := range part {
				times[i] = row.CreatedAt
			}
			for i, id := range dbtest.Must(again.At("gormid_test.imported", times))(t) {
				if id != part[i].ID.Int64() {
					t.Fatalf("row %d has the key %d, and %d in the repetition", part[i].Old, part[i].ID, id)
				}
			}
		}
	})
}

// Rows that have no time of their own are refused by their index, and nothing is inserted.
func TestBackfillWays(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e, cfg := backfilled(t, about)
		day := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
		timeOf := func(id pk.ID) time.Time { return cfg.Layout.Decode(id.Int64()).Time }

		one := imported{Old: 1, CreatedAt: day}
		must(t, e.DB.Create(&one))
		lines := []importedLine{{CreatedAt: sql.NullTime{Time: day.Add(time.Hour), Valid: true}}, {CreatedAt: sql.NullTime{Time: day, Valid: true}}}
		parent := imported{Old: 2, CreatedAt: day, Lines: lines}
		must(t, e.DB.Create(&parent))
		if !timeOf(one.ID).Equal(day) || parent.ID != one.ID+1 || !timeOf(parent.Lines[0].ID).Equal(day.Add(time.Hour)) || !timeOf(parent.Lines[1].ID).Equal(day) {
			t.Errorf("%+v, %+v", one, parent)
		}
		must(t, e.DB.Model(&imported{}).Create([]map[string]any{{"Old": 3, "CreatedAt": day}, {"old": 4, "created_at": day}}))
		e.wantTable(t, "SELECT id FROM imports ORDER BY old", line(one.ID), line(one.ID+1), line(one.ID+2), line(one.ID+3))

		for name, rows := range map[string]any{
			"struct": &[]imported{{Old: 5, CreatedAt: day}, {ID: 1, Old: 6}, {Old: 7}},
			"map":    []map[string]any{{"Old": 5, "CreatedAt": day}, {"ID": 1, "Old": 6}, {"Old": 7}},
			"early":  &[]imported{{Old: 5, CreatedAt: day}, {ID: 1, Old: 6}, {Old: 7, CreatedAt: day.AddDate(-2, 0, 0)}},
			"sooner": &[]imported{{Old: 5, CreatedAt: day}, {ID: 1, Old: 6}, {Old: 7, CreatedAt: day.Add(-time.Second)}},
		} {
			tx := e.DB
			if name == "map" {
				tx = tx.Model(&imported{})
			}
			err := tx.Session(&gorm.Session{}).Create(rows).Error
			if of, ok := errors.AsType[*gormid.RowError](err); !ok || of.Row != 2 {
				t.Errorf("%s: %v", name, err)
			}
		}
		e.wantTable(t, "SELECT count(*) FROM imports", "4")
	})
}
