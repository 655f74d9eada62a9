package main

import (
	"sync/atomic"
	"time"
)

// bulkRows is the number of rows in a bulk insert.
const bulkRows = 1000

// ways create rows through one integration with one kind of key. Both workloads are
// safe for concurrent use.
type ways struct {
	one  workload // a single row
	bulk workload // bulkRows rows in a single call
}

// An integration creates rows using its default settings.
type integration struct {
	name string
	open func(*database, keyKind) (ways, error)
}

func integrations(dialect string) []integration {
	bare := integration{"pgx", openPgx}
	if dialect == "mysql" {
		bare = integration{"database/sql", openSQL}
	}
	return []integration{bare, {"GORM", openGORMRows}, {"ent", openEntRows}, {"bun", openBun}}
}

// waysOf returns ways that insert using one and many. Rows are made by create.
func waysOf[R any](create func() (R, error), one func(*R) error, many func([]R) error) ways {
	return ways{
		one: repeat(func() error {
			row, err := create()
			if err != nil {
				return err
			}
			return one(&row)
		}),
		bulk: repeat(func() (err error) {
			rows := make([]R, bulkRows)
			for i := range rows {
				if rows[i], err = create(); err != nil {
					return err
				}
			}
			return many(rows)
		}),
	}
}

// A row is a row of the tables, with a key of type K.
type row[K any] struct {
	ID          K
	Name, Email string
	CreatedAt   time.Time
}

// All rows have these values.
const (
	someName  = "Ada"
	someEmail = "ada@example.com"
)

var lastMoment atomic.Int64

// moment returns the current time in microseconds, which is the precision of the
// databases. It never returns the same time more than once, because the index on
// created_at should have its own entry for each row.
func moment() time.Time {
	for {
		last := lastMoment.Load()
		now := max(last+1, time.Now().UnixMicro())
		if lastMoment.CompareAndSwap(last, now) {
			return time.UnixMicro(now)
		}
	}
}

// rowsWith returns a function that creates rows, calling make for their keys.
func rowsWith[K any](make func() (K, error)) func() (row[K], error) {
	return func() (row[K], error) {
		id, err := make()
		return row[K]{id, someName, someEmail, moment()}, err
	}
}
