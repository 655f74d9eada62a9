package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/glebarez/go-sqlite" // the drivers
	"github.com/glebarez/sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A database is the shop's.
type database struct {
	*sql.DB
	kind string // postgres, mysql or sqlite
}

// open connects to the database of dsn or, without one, to a file in dir.
func open(ctx context.Context, dsn, dir string) (database, error) {
	kind, driver := "sqlite", "sqlite"
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"), strings.Contains(dsn, "host="):
		kind, driver = "postgres", "pgx"
	case dsn != "":
		kind, driver = "mysql", "mysql"
	default:
		uri := url.URL{Path: filepath.Join(dir, "shop.db")} // the driver takes a URI, where # and ? would end the path
		dsn = "file:" + uri.EscapedPath() + "?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return database{}, errors.New("the data source name is not one of Postgres or MySQL") // it may hold a password
	}
	if err := db.PingContext(ctx); err != nil {
		return database{}, errors.Join(err, db.Close())
	}
	return database{db, kind}, nil
}

// store returns where leases are kept.
func (db database) store() *sqlstore.Store {
	switch db.kind {
	case "postgres":
		return sqlstore.Postgres(db.DB)
	case "mysql":
		return sqlstore.MySQL(db.DB)
	default:
		return sqlstore.SQLite(db.DB)
	}
}

// gorm opens GORM for one application. The applications share only the database.
func (db database) gorm() (*gorm.DB, error) {
	var dialector gorm.Dialector
	switch db.kind {
	case "postgres":
		dialector = postgres.New(postgres.Config{Conn: db.DB})
	case "mysql":
		dialector = mysql.New(mysql.Config{Conn: db.DB})
	default:
		dialector = sqlite.Dialector{Conn: db.DB}
	}
	return gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
}

// refused reports whether the database refused a row without a key. On MySQL and SQLite
// the fence refuses it. On Postgres, and after the fence, NOT NULL does.
func (db database) refused(err error) bool {
	switch db.kind {
	case "postgres":
		return sqlState(err) == "23502"
	case "mysql":
		n := mysqlNumber(err)
		return n == 1644 || n == 1364
	default:
		code := sqliteCode(err)
		return code == 1811 || code == 1299 // SQLITE_CONSTRAINT_TRIGGER, SQLITE_CONSTRAINT_NOTNULL
	}
}

// disturbed reports whether a transaction failed because of a concurrent ALTER TABLE or
// a concurrent transaction, so that a retry can succeed.
func (db database) disturbed(err error) bool {
	switch db.kind {
	case "postgres":
		switch sqlState(err) {
		case "40001", "40P01", "55P03": // serialization, deadlock, lock not available
			return true
		case "0A000": // a prepared statement returned a column of the type it had
			return true
		}
	case "mysql":
		switch mysqlNumber(err) {
		case 1205, 1213, 1412: // lock wait timeout, deadlock, table definition has changed
			return true
		case 1615, 1146: // what a prepared INSERT gets while a trigger is made, from MySQL and from MariaDB
			return true
		}
	default:
		code := sqliteCode(err) & 0xff
		return code == 5 || code == 6 || code == 17 // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_SCHEMA
	}
	return false
}
