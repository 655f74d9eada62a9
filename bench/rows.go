package main

import (
	"fmt"
	"io"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// rows measures what each kind of key costs on a server. It fills a table for each kind
// with bulk inserts, which shows how the cost of a row grows with the table, and how large
// the table is on disk. After that, it inserts into the full tables through each
// integration.
func rows(t dbtest.TB, w io.Writer, dialect string, rows int, d time.Duration) error {
	server := dbtest.Durable(t, dialect)
	db, err := newDatabase(t, server, server.Connect(t))
	if err != nil {
		return err
	}
	if err := fill(w, db, rows); err != nil {
		return err
	}
	return insert(w, db, d)
}

// open prepares every kind of key for an integration, in the order of keyKinds.
func (i integration) openAll(db *database) (list []ways, err error) {
	for _, k := range keyKinds() {
		w, err := i.open(db, k)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", i.name, k.name, err)
		}
		list = append(list, w)
	}
	return list, nil
}

// fill fills the tables in ten steps, with the kinds of keys taking turns.
func fill(w io.Writer, db *database, rows int) error {
	const steps = 10
	orm := integrations(db.dialect)[0]
	open, err := orm.openAll(db)
	if err != nil {
		return err
	}
	sides := make([]workload, len(open))
	for i := range open {
		sides[i] = open[i].bulk
	}
	pieces := max(1, rows/steps/bulkRows)
	costs, err := race(sides, pieces, func(rounds int) bool { return rounds < steps })
	if err != nil {
		return fmt.Errorf("%s, bulk: %w", orm.name, err)
	}
	s := sheet{
		title:   fmt.Sprintf("%s: tables of %s rows, filled with %s, a buffer of %s", db.version, count(steps*bulkRows*float64(pieces)), orm.name, db.memory),
		columns: []string{"key", "rows a second", "first and last tenth", "rate, relative to auto-increment", "rows", "index of the key", "index on created_at", "all"},
	}
	for i, k := range keyKinds() {
		size, err := db.sizes(k)
		if err != nil {
			return fmt.Errorf("the size of %s: %w", k.table, err)
		}
		sum := 0.0
		for _, each := range costs[i] {
			sum += each
		}
		key := megabytes(size.key)
		if size.key == 0 {
			key = "holds the rows"
		}
		s.rows = append(s.rows, []string{
			k.name, count(bulkRows * 1e9 * steps / sum),
			count(bulkRows*1e9/costs[i][0]) + ", " + count(bulkRows*1e9/costs[i][steps-1]),
			ratios(costs[0], costs[i]).String(),
			megabytes(size.rows), key, megabytes(size.second), megabytes(size.rows + size.key + size.second),
		})
	}
	s.print(w)
	return nil
}

// insert inserts rows through each integration, in each of its ways.
func insert(w io.Writer, db *database, d time.Duration) error {
	s := sheet{title: db.version + ": rows a second, inserted into these tables", columns: []string{""}}
	for _, k := range keyKinds() {
		s.columns = append(s.columns, k.name)
	}
	one := func(w ways) workload { return w.one }
	for number, orm := range integrations(db.dialect) {
		open, err := orm.openAll(db)
		if err != nil {
			return err
		}
		type way struct {
			name string
			rows float64 // in each piece of work
			work func(ways) workload
		}
		list := []way{{"one row", 1, one}}
		if number == 0 {
			for _, crowd := range []int{4, connections} {
				list = append(list, way{fmt.Sprintf("one row, %d connections", crowd), 1, func(w ways) workload { return w.one.among(crowd) }})
			}
		}
		list = append(list, way{count(bulkRows) + " rows", bulkRows, func(w ways) workload { return w.bulk }})
		for _, way := range list {
			sides := make([]workload, len(open))
			least := 0 // all insert the same number of rows, because the tables have to stay equally large
			for i := range open {
				sides[i] = way.work(open[i])
				n, err := sides[i].fit(d / 10)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", orm.name, way.name, err)
				}
				if i == 0 || n < least {
					least = n
				}
			}
			start := time.Now()
			costs, err := race(sides, least, func(rounds int) bool { return rounds < 3 || time.Since(start) < 2*d*time.Duration(len(sides)) })
			if err != nil {
				return fmt.Errorf("%s, %s: %w", orm.name, way.name, err)
			}
			cells := []string{orm.name + ", " + way.name}
			for i := range sides {
				cell := count(way.rows * 1e9 / spreadOf(costs[i]).median)
				if i > 0 {
					cell += ", " + ratios(costs[0], costs[i]).String()
				}
				cells = append(cells, cell)
			}
			s.rows = append(s.rows, cells)
		}
	}
	s.print(w)
	return nil
}
