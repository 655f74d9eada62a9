package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// steps is the number of equal steps in which we fill a table.
const steps = 10

// inserts measures what each kind of key costs on a server. It first fills a table for
// each kind using bulk inserts, which shows how the cost of an insert grows with the
// table, and how large the table is on disk. After that, it inserts rows into the full
// tables through each integration.
func inserts(dir string, p *pools, dialect string, rows int) study {
	return study{
		title: "Inserts on " + map[string]string{"postgres": "PostgreSQL", "mysql": "MySQL or MariaDB"}[dialect],
		measure: func(d time.Duration) (found findings, err error) {
			idgen.SetDefault(p.full) // the integrations draw from it
			s := &servers{dir: dir}
			defer func() { err = errors.Join(err, s.close()) }()
			server, conn, err := s.start(dialect)
			if err != nil {
				line, _, _ := strings.Cut(err.Error(), "\n")
				return findings{sheets: []sheet{{title: dialect, note: "Not measured: " + line, columns: []string{""}}}}, nil
			}
			db, err := newDatabase(s, server, conn)
			if err != nil {
				return found, err
			}
			in := &inserting{db: db, d: d, rows: rows}
			if err := in.fill(); err != nil {
				return found, err
			}
			return in.found, in.compare()
		},
	}
}

// inserting is the state of one such study.
type inserting struct {
	db    *database
	d     time.Duration
	rows  int // in each table
	found findings
}

// open prepares every kind of key for an integration, in the order of keyKinds.
func (in *inserting) open(orm integration) (ways []ways, err error) {
	for _, k := range keyKinds() {
		w, err := orm.open(in.db, k)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", orm.name, k.name, err)
		}
		ways = append(ways, w)
	}
	return ways, nil
}

// fill fills the tables, with the kinds of keys taking turns.
func (in *inserting) fill() error {
	orm := integrations(in.db.dialect)[0]
	open, err := in.open(orm)
	if err != nil {
		return err
	}
	pieces := max(1, in.rows/steps/bulkRows)
	in.rows = pieces * steps * bulkRows
	step := make([]int, len(open))
	sides := make([]workload, len(open))
	for i := range open {
		sides[i], step[i] = open[i].bulk, pieces
	}
	turns, err := race(sides, step, times(steps))
	if err != nil {
		return fmt.Errorf("%s, bulk: %w", orm.name, err)
	}
	s := sheet{
		title: fmt.Sprintf("%s: tables of %s rows", in.db.version, commas(int64(in.rows))),
		note: fmt.Sprintf("We filled the tables with %s, %s rows per call, in turns of %s rows. The quartiles are those of the turns. "+
			"Each table also has an index on created_at. The server's buffer has %s.",
			orm.name, commas(bulkRows), commas(int64(pieces*bulkRows)), in.db.memory),
		columns: []string{"key", "rows a second", "the last tenth", "rate, relative to auto-increment", "rows", "index of the key", "index on created_at", "all"},
	}
	growth := plot{
		name:  "rows-" + strings.Fields(in.db.version)[0],
		title: "Cost of a row in bulk as the table grows, " + in.db.version,
		x:     axis{title: "rows in the table"}, y: axis{title: "µs a row"},
	}
	for i, k := range keyKinds() {
		size, err := in.db.sizes(k)
		if err != nil {
			return fmt.Errorf("the size of %s: %w", k.table, err)
		}
		var wall time.Duration
		line := series{name: k.name, ours: k.ours}
		for round, t := range turns[i] {
			wall += t.wall
			cost := t.wallEach() / bulkRows / 1e3
			line.points = append(line.points, point{x: float64((round + 1) * pieces * bulkRows), y: cost, low: cost, high: cost})
		}
		growth.series = append(growth.series, line)
		cells := []string{
			k.name, count(float64(in.rows) / wall.Seconds()), count(bulkRows * 1e9 / turns[i][steps-1].wallEach()), "1",
			megabytes(size.rows), megabytes(size.key), megabytes(size.second), megabytes(size.all()),
		}
		if i > 0 {
			cells[3] = ratios(turns[0], turns[i]).format("%.2f", 1)
		}
		if size.key == 0 {
			cells[5] = "holds the rows"
		}
		s.rows = append(s.rows, cells)
	}
	in.found.sheets = append(in.found.sheets, s)
	in.found.plots = append(in.found.plots, growth)
	in.judge("filling the table", turns)
	return nil
}

// compare inserts rows through each integration, in each of its ways.
func (in *inserting) compare() error {
	s := sheet{
		title: fmt.Sprintf("%s: rows a second, inserted into these tables", in.db.version),
		note: "In brackets you find the ratio to the rate of auto-increment, with its quartiles. All integrations use their defaults, " +
			"and the program shares the machine's cores with the server. " +
			map[string]string{
				"postgres": "Note that COPY, which we use for pgx in bulk, doesn't return the keys made by the database. All other ways do.",
				"mysql":    "After a bulk insert, the database returns only the first key, from which GORM and ent compute the others.",
			}[in.db.dialect],
		columns: []string{""},
	}
	for _, k := range keyKinds() {
		s.columns = append(s.columns, k.name)
	}
	for number, orm := range integrations(in.db.dialect) {
		open, err := in.open(orm)
		if err != nil {
			return err
		}
		type way struct {
			name string
			rows float64 // in each piece of work
			work func(ways) workload
		}
		list := []way{{"one row", 1, func(w ways) workload { return w.one }}}
		if number == 0 {
			for _, crowd := range []int{4, connections} {
				list = append(list, way{
					fmt.Sprintf("one row, %d connections", crowd), 1,
					func(w ways) workload { return w.one.among(crowd) },
				})
			}
		}
		list = append(list, way{fmt.Sprintf("%s rows", commas(bulkRows)), bulkRows, func(w ways) workload { return w.bulk }})
		for _, way := range list {
			sides := make([]workload, len(open))
			for i := range open {
				sides[i] = way.work(open[i])
			}
			name := orm.name + ", " + way.name
			turns, err := in.race(sides)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			cells := []string{name}
			for i := range sides {
				cell := count(way.rows * 1e9 / costs(turns[i]).median)
				if i > 0 {
					cell += " (" + ratios(turns[0], turns[i]).between() + ")"
				}
				cells = append(cells, cell)
			}
			s.rows = append(s.rows, cells)
			in.judge(name, turns)
		}
	}
	in.found.sheets = append(in.found.sheets, s)
	return nil
}

// race lets the kinds of keys take turns. We insert the same number of rows in every
// turn, because the tables have to stay equally large.
func (in *inserting) race(sides []workload) ([][]turn, error) {
	least := 0
	for i, side := range sides {
		n, err := fit(side, in.d/10)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyKinds()[i].name, err)
		}
		if i == 0 || n < least {
			least = n
		}
	}
	pieces := make([]int, len(sides))
	for i := range pieces {
		pieces[i] = least
	}
	return race(sides, pieces, lasting(2*in.d*time.Duration(len(sides))))
}

// judge notes which kinds of keys were faster than ours in at least three quarters of
// the rounds.
func (in *inserting) judge(what string, turns [][]turn) {
	kinds := keyKinds()
	for ours := range kinds {
		if !kinds[ours].ours {
			continue
		}
		for i := range kinds {
			if r := ratios(turns[i], turns[ours]); i != ours && r.high < 1 {
				why := ""
				if in.db.dialect == "mysql" && kinds[i].make == nil {
					why = "The program sends the keys, and the server makes auto-increment's itself. “Sending keys” compares that with the keys 1, 2, 3 …, " +
						"which are the cheapest ones that a program can send."
				}
				in.found.behind = append(in.found.behind, because(fmt.Sprintf("%s, %s: %s of the rate of %s",
					in.db.version, what, r.format("%.2f", 1), kinds[i].name), why))
			}
		}
	}
}

// between is like format, but prints the quartiles without brackets.
func (s spread) between() string {
	return fmt.Sprintf("%.2f, %.2f–%.2f", s.median, s.low, s.high)
}
