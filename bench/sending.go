package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// sending finds out why rows with a key that the program sends cost more on MySQL and
// MariaDB than rows with auto-increment. It compares the ways of the driver to send
// them, and sends small consecutive numbers as well, which are as good as auto-increment
// for the index.
func sending(dir string, p *pools) study {
	const title = "Sending keys to MySQL or MariaDB"
	return study{title: title, measure: func(d time.Duration) (found findings, err error) {
		s := &servers{dir: dir}
		defer func() { err = errors.Join(err, s.close()) }()
		server, conn, err := s.start("mysql")
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			return findings{sheets: []sheet{{title: title, note: "Not measured: " + line, columns: []string{""}}}}, nil
		}
		config, err := mysqldriver.ParseDSN(server.DSN)
		if err != nil {
			return found, err
		}
		config.InterpolateParams = true
		connector, err := mysqldriver.NewConnector(config)
		if err != nil {
			return found, err
		}
		text := sql.OpenDB(connector)
		defer func() { err = errors.Join(err, text.Close()) }()

		ways := []struct {
			name     string
			db       *sql.DB
			prepared bool
			rows     int
			calls    int // in a turn
		}{
			{"1,000 rows a call, prepared for each call, the default", conn, false, bulkRows, 1},
			{"1,000 rows a call, interpolateParams=true", text, false, bulkRows, 1},
			{"1,000 rows a call, prepared once", conn, true, bulkRows, 1},
			{"one row a call, prepared for each call, the default", conn, false, 1, 10},
		}
		keys := []struct {
			name, column string
			make         func() (int64, error)
		}{
			{"auto-increment", "bigint AUTO_INCREMENT", nil},
			{"1, 2, 3 …, sent", "bigint", fromOne()},
			{"Snowkey", "bigint", func() (int64, error) { return p.full.Next(context.Background()) }},
		}
		out := sheet{
			title: server.Version + ": rows a second",
			note: "In brackets you find the ratio to the rate of auto-increment in the same row, with its quartiles. The column in the middle has the best keys " +
				"that a program can send: short, and in the order of the index. Where its ratio is that of Snowkey, the difference is the cost of a fourth value " +
				"in each row, whatever its digits are.",
			columns: []string{""},
		}
		var sides []workload
		var pieces []int
		for i, k := range keys {
			out.columns = append(out.columns, k.name)
			for j, way := range ways {
				table := keyKind{table: fmt.Sprintf("sent_%d_%d", i, j), column: map[string]string{"mysql": k.column}}
				for _, statement := range table.tableSQL("mysql") {
					if _, err := conn.Exec(statement); err != nil {
						return found, fmt.Errorf("%s: %w", statement, err)
					}
				}
				side, err := sends(way.db, table.table, k.make, way.rows, way.prepared)
				if err != nil {
					return found, err
				}
				sides, pieces = append(sides, side), append(pieces, way.calls)
			}
		}
		turns, err := race(sides, pieces, lasting(4*d*time.Duration(len(ways))))
		if err != nil {
			return found, err
		}
		for j, way := range ways {
			cells := []string{way.name}
			for i := range keys {
				turn := turns[i*len(ways)+j]
				cell := count(float64(way.rows) * 1e9 / costs(turn).median)
				if i > 0 {
					cell += " (" + ratios(turns[j], turn).between() + ")"
				}
				cells = append(cells, cell)
			}
			out.rows = append(out.rows, cells)
		}
		found.sheets = []sheet{out}
		return found, nil
	}}
}

// fromOne counts from 1.
func fromOne() func() (int64, error) {
	var last int64
	return func() (int64, error) { last++; return last, nil }
}

// sends inserts rows into a table, as many as rows in each call. If key is nil, the
// database makes the keys.
func sends(db *sql.DB, table string, key func() (int64, error), rows int, prepared bool) (workload, error) {
	columns, row := "name, email, created_at", "(?, ?, ?)"
	if key != nil {
		columns, row = "id, "+columns, "(?, ?, ?, ?)"
	}
	query := "INSERT INTO " + table + " (" + columns + ") VALUES " + row + strings.Repeat(", "+row, rows-1)
	exec := func(args ...any) (sql.Result, error) { return db.Exec(query, args...) }
	if prepared {
		statement, err := db.Prepare(query)
		if err != nil {
			return nil, err
		}
		exec = statement.Exec // closed with db
	}
	return repeat(func() error {
		args := make([]any, 0, 4*rows)
		for range rows {
			if key != nil {
				id, err := key()
				if err != nil {
					return err
				}
				args = append(args, id)
			}
			args = append(args, someName, someEmail, moment())
		}
		_, err := exec(args...)
		return err
	}), nil
}
