//go:build unix

package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

var postgres = backend{
	name: "postgres",
	open: func(text string, _ func() time.Time) (lease.Store, error) {
		return openSQL("pgx", text, sqlstore.Postgres)
	},
	start: func(t dbtest.TB) server { return startSQL(t, "postgres") },
	lacks: map[string]string{
		faultStop: "each connection of Postgres has a process of its own, which goes on",
	},
}

var mysql = backend{
	name: "mysql",
	open: func(text string, _ func() time.Time) (lease.Store, error) {
		return openSQL("mysql", text, sqlstore.MySQL)
	},
	start: func(t dbtest.TB) server { return startSQL(t, "mysql") },
}

// mysqlCluster is for the tests of clusters. A balancer soon leads each process to another
// member, because connections live briefly.
var mysqlCluster = backend{
	name: "mysql cluster",
	open: func(text string, _ func() time.Time) (lease.Store, error) {
		return openSQL("mysql", text, func(db *sql.DB) *sqlstore.Store {
			db.SetConnMaxLifetime(2 * time.Second)
			return sqlstore.MySQL(db)
		})
	},
}

func openSQL(driver, dsn string, store func(*sql.DB) *sqlstore.Store) (lease.Store, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return store(db), nil
}

func startSQL(t dbtest.TB, dialect string) server {
	db, process, clock := dbtest.Clocked(t, dialect)
	s := server{
		text: db.DSN, addresses: []string{regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(db.DSN)},
		kill: process.Kill, start: process.Start, setClock: clock.Set,
		dump: func(ctx context.Context, w io.Writer) error { return writeTables(ctx, w, db) },
	}
	if dialect == "mysql" {
		s.stop = func() error { return process.Signal(syscall.SIGSTOP) }
		s.resume = func() error { return process.Signal(syscall.SIGCONT) }
	}
	return s
}

// writeTables writes all columns of the lease tables.
func writeTables(ctx context.Context, w io.Writer, of dbtest.DB) (failed error) {
	db, err := sql.Open(of.Driver, of.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, table := range []string{"snowkey_lease_ns", "snowkey_lease"} {
		fmt.Fprintf(w, "%s at %s\n", table, time.Now().Format(time.RFC3339Nano))
		if err := writeRows(ctx, w, db, "SELECT * FROM "+table); err != nil {
			fmt.Fprintln(w, err)
			failed = errors.Join(failed, err)
		}
		fmt.Fprintln(w)
	}
	return failed
}

// writeRows writes a line with the column names, followed by a line for each row.
// Columns are separated by tabs.
func writeRows(ctx context.Context, w io.Writer, db *sql.DB, query string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, strings.Join(names, "\t"))
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			if names[i] = "NULL"; v.Valid {
				names[i] = v.String
			}
		}
		fmt.Fprintln(w, strings.Join(names, "\t"))
	}
	return rows.Err()
}
