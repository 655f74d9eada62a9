package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/bench/internal/ent"
	_ "github.com/snowkey-go/snowkey/bench/internal/ent/runtime" // registers the mixin's hook
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// rows measures how much longer it takes to insert a single row if our integration sets
// the key, using GORM and ent in their default settings. The yardstick inserts the same
// row into another table, without the plugin or hook and with a key generated
// beforehand.
//
// The rows go into two files on disk. Inserts into the first one wait for the disk,
// which is the default of SQLite. They don't wait in the second file, which is as fast
// as SQLite can be made, so that line doesn't have a bar.
func rows(dir string, p *pools) (t topic, closeFiles func() error, err error) {
	idgen.SetDefault(p.full)
	t = topic{
		name: "Rows", title: "Inserting a row into an SQLite file (WAL)",
		note: "The lines with synchronous=NORMAL show what our code costs. After a flush, the caches hold other data and code, so it costs more with FULL. What that\n" +
			"  is in percent depends on how long the disk takes to flush.",
	}
	var files []*sql.DB
	closeFiles = func() error {
		var errs []error
		for _, db := range files {
			errs = append(errs, db.Close())
		}
		return errors.Join(errs...)
	}
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		db, err := openSQLite(filepath.Join(dir, synchronous+".db"), synchronous)
		if err != nil {
			return t, closeFiles, err
		}
		files = append(files, db)
		for _, orm := range []struct {
			name string
			open func(*sql.DB, *idgen.Generator) (fills, presets workload, err error)
		}{{"GORM with gormid", openGORM}, {"ent with entid", openEnt}} {
			name := fmt.Sprintf("%s, synchronous=%s", orm.name, synchronous)
			fills, presets, err := orm.open(db, p.full.Named(name))
			if err != nil {
				return t, closeFiles, fmt.Errorf("%s: %w", name, err)
			}
			trial := trial{name: name, work: fills, against: "with a preset key", yardstick: presets, times: 2, lines: added}
			if synchronous == "FULL" {
				trial.bar.text, trial.times = "< +1 %", 16 // with 4, the result varies by 0.1 %
			}
			t.trials = append(t.trials, trial)
			if synchronous == "NORMAL" {
				trial.name += ", after a pause of 1 ms"
				trial.pace.rest, trial.times = time.Millisecond, 4
				t.trials = append(t.trials, trial)
			}
		}
	}
	return t, closeFiles, nil
}

// added reports how much longer our inserts took than the yardstick's. A turn is one
// insert. Single inserts vary by more than the difference that we're looking for, so
// added takes the median of each hundred rounds, and prints the median and the
// quartiles of these medians.
func added(r result) []line {
	more := r.values(func(ours, theirs turn) float64 { return ours.wallEach() - theirs.wallEach() })
	var medians []float64
	for hundred := range slices.Chunk(more, 100) {
		medians = append(medians, spreadOf(hundred).median)
	}
	added := spreadOf(medians)
	usual := r.each(func(_, theirs turn) float64 { return theirs.wallEach() })
	l := r.line()
	l.ratio = added.format("%+.2f", 100/usual) + " %, " + nanos(added.median)
	if l.bar != "" {
		l.verdict = verdict(added.median < 0.01*usual)
	}
	return []line{l}
}

func openSQLite(path, synchronous string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// gormFilled and gormPreset are the same rows as in ent's schema.
type (
	gormFilled struct {
		ID          pk.ID
		Name, Email string
		CreatedAt   time.Time
	}
	gormPreset gormFilled
)

func openGORM(db *sql.DB, g *idgen.Generator) (fills, presets workload, err error) {
	open := func() (*gorm.DB, error) {
		return gorm.Open(&sqlite.Dialector{Conn: db}, &gorm.Config{Logger: logger.Discard})
	}
	with, err := open()
	if err != nil {
		return nil, nil, err
	}
	if err := with.Use(gormid.New(gormid.Config{})); err != nil {
		return nil, nil, err
	}
	without, err := open()
	if err != nil {
		return nil, nil, err
	}
	if err := without.AutoMigrate(&gormFilled{}, &gormPreset{}); err != nil {
		return nil, nil, err
	}
	now := time.Now()
	fills = repeat(func() error {
		return with.Create(&gormFilled{Name: "Ada", Email: "ada@example.com", CreatedAt: now}).Error
	})
	next := beforehand(g)
	presets = repeat(func() error {
		id, err := next()
		if err != nil {
			return err
		}
		return without.Create(&gormPreset{ID: pk.ID(id), Name: "Ada", Email: "ada@example.com", CreatedAt: now}).Error
	})
	return fills, presets, nil
}

func openEnt(db *sql.DB, g *idgen.Generator) (fills, presets workload, err error) {
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	ctx := context.Background()
	if err := client.Schema.Create(ctx); err != nil {
		return nil, nil, err
	}
	now := time.Now()
	fills = repeat(func() error {
		_, err := client.Filled.Create().SetName("Ada").SetEmail("ada@example.com").SetCreatedAt(now).Save(ctx)
		return err
	})
	next := beforehand(g)
	presets = repeat(func() error {
		id, err := next()
		if err != nil {
			return err
		}
		_, err = client.Preset.Create().SetID(pk.ID(id)).SetName("Ada").SetEmail("ada@example.com").SetCreatedAt(now).Save(ctx)
		return err
	})
	return fills, presets, nil
}

// beforehand returns a function that returns one id per call. It generates a thousand
// ids at a time, which makes the cost of a single id close to zero.
func beforehand(g *idgen.Generator) func() (int64, error) {
	var ids []int64
	return func() (id int64, err error) {
		if len(ids) == 0 {
			if ids, err = g.NextN(context.Background(), 1000); err != nil {
				return 0, err
			}
		}
		id, ids = ids[0], ids[1:]
		return id, nil
	}
}
