//go:build unix

package chaos

import (
	"database/sql"
	"regexp"
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
	s := server{}
	var db dbtest.DB
	var process *dbtest.Process
	if dbtest.Nightly {
		db, process = dbtest.Clocked(t, dialect)
		s.setClock = process.SetClock
	} else {
		db, process = dbtest.Killable(t, dialect)
	}
	s.text, s.addresses = db.DSN, []string{addressOf(db)}
	s.kill, s.start = process.Kill, process.Start
	if dialect == "mysql" { // a connection of Postgres has a process of its own, which goes on
		s.stop = func() error { return process.Signal(syscall.SIGSTOP) }
		s.resume = func() error { return process.Signal(syscall.SIGCONT) }
	}
	return s
}

func addressOf(db dbtest.DB) string { return regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(db.DSN) }
