package main

import (
	"sync/atomic"
	"time"
)

// bulkRows is how many rows a bulk insert has.
const bulkRows = 1000

// Ways are how an integration creates rows with one kind of key. Both are safe
// for concurrent use.
type ways struct {
	one  workload // a row
	bulk workload // bulkRows of them, in one call
}

// An integration creates rows as it does by default. The program knows the keys
// of the rows afterwards where the integration gives them to it.
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

// waysOf repeats an insert of one row and of many, which create makes.
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

// A row is what is inserted.
type row[K any] struct {
	ID          K
	Name, Email string
	CreatedAt   time.Time
}

// What all rows have.
const (
	someName  = "Ada"
	someEmail = "ada@example.com"
)

var lastMoment atomic.Int64

// moment is the time, to the microsecond that databases keep. No two rows have the
// same, so that the index on it has as many entries as there are rows.
func moment() time.Time {
	for {
		last := lastMoment.Load()
		now := max(last+1, time.Now().UnixMicro())
		if lastMoment.CompareAndSwap(last, now) {
			return time.UnixMicro(now)
		}
	}
}

// rowsWith returns a function that makes rows with the keys of make.
func rowsWith[K any](make func() (K, error)) func() (row[K], error) {
	return func() (row[K], error) {
		id, err := make()
		return row[K]{id, someName, someEmail, moment()}, err
	}
}
