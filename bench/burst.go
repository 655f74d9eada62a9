package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// bursts measures GORM's Create of 1,000 rows, five times a second, with the narrow
// layout of JSSafe. Each call takes all numbers of 160 ms, so the pool runs ahead of its
// clock. The pools are leased.
func bursts(dir string) (t topic, closeAll func() error, err error) {
	var closes []func() error
	closeAll = func() error {
		var errs []error
		for _, f := range closes {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	var creates [2]func() error
	for i, layout := range []idgen.Layout{idgen.JSSafe(), idgen.DefaultLayout()} {
		name := []string{"jssafe", "default"}[i]
		pool, err := snowkey.Open(context.Background(), filestore.Dir(filepath.Join(dir, "leases")), snowkey.Config{Layout: layout, Namespace: name})
		if err != nil {
			return t, closeAll, err
		}
		closes = append(closes, func() error { return pool.Close(context.Background()) })
		db, err := openSQLite(filepath.Join(dir, name+".db"), "FULL")
		if err != nil {
			return t, closeAll, err
		}
		closes = append(closes, db.Close)
		if creates[i], err = createThousand(db, pool); err != nil {
			return t, closeAll, err
		}
	}
	t = topic{
		name:  "Bursts",
		title: "1,000 rows a call with GORM, 5,000 rows a second, SQLite with synchronous=FULL",
	}
	t.trials = []trial{{
		name:    "JSSafe, leased",
		against: "DefaultLayout",
		alone: func(d time.Duration) ([]line, error) {
			var costs [2][]float64
			more := lasting(4 * d)
			for start, round := time.Now(), 0; more(round); round++ {
				for half := range 2 {
					i := (round + half) % 2
					time.Sleep(time.Until(start.Add(time.Duration(2*round+half) * 100 * time.Millisecond)))
					began := time.Now()
					if err := creates[i](); err != nil {
						return nil, err
					}
					costs[i] = append(costs[i], float64(time.Since(began))/1000)
				}
			}
			rate := quotients(costs[1], costs[0])
			return []line{{
				name: "JSSafe, leased", cost: nanos(spreadOf(costs[0]).median), against: "DefaultLayout", theirs: nanos(spreadOf(costs[1]).median),
				ratio: rate.format("%.2f", 1) + " of its rate", bar: "≥ 0.95", verdict: verdict(rate.median >= 0.95),
			}}, nil
		},
	}}
	return t, closeAll, nil
}

func createThousand(conn *sql.DB, source idgen.Source) (func() error, error) {
	type burst struct {
		ID          pk.ID
		Name, Email string
		CreatedAt   time.Time
	}
	db, err := gorm.Open(&sqlite.Dialector{Conn: conn}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	if err := db.Use(gormid.New(gormid.Config{Source: source})); err != nil {
		return nil, err
	}
	if err := db.AutoMigrate(&burst{}); err != nil {
		return nil, err
	}
	return func() error {
		rows := make([]burst, 1000)
		for i := range rows {
			rows[i] = burst{Name: "Ada", Email: "ada@example.com", CreatedAt: time.Now()}
		}
		return db.Create(&rows).Error
	}, nil
}
