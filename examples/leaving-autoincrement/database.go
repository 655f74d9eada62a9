package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/glebarez/go-sqlite" // register the drivers
	"github.com/glebarez/sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A database is the database of the shop.
type database struct {
	*sql.DB
	kind string // postgres, mysql or sqlite
}

// open connects to the database of dsn. If dsn is empty, it uses an SQLite file in dir.
func open(ctx context.Context, dsn, dir string) (database, error) {
	kind, driver := "sqlite", "sqlite"
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"), strings.Contains(dsn, "host="):
		kind, driver = "postgres", "pgx"
	case dsn != "":
		kind, driver = "mysql", "mysql"
	default:
		uri := url.URL{Path: filepath.Join(dir, "shop.db")} // the driver expects a URI, in which # or ? would end the path
		dsn = "file:" + uri.EscapedPath() + "?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return database{}, errors.New("the data source name is not one of Postgres or MySQL") // no err here: it may contain a password
	}
	if err := db.PingContext(ctx); err != nil {
		return database{}, errors.Join(err, db.Close())
	}
	return database{db, kind}, nil
}

// store returns the store for leases in this database.
func (db database) store() lease.Store {
	switch db.kind {
	case "postgres":
		return sqlstore.Postgres(db.DB)
	case "mysql":
		return sqlstore.MySQL(db.DB)
	default:
		return sqlstore.SQLite(db.DB)
	}
}

// gorm opens GORM for one application. Nothing but the database is shared between
// applications.
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

// refused reports whether the database refused a row because it had no key. On MySQL
// and SQLite, this is done by the fence. On Postgres, and on the others after the fence
// is gone, it's done by NOT NULL.
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

// disturbed reports whether a transaction only failed because of a concurrent ALTER
// TABLE or another transaction, in which case a retry can succeed.
func (db database) disturbed(err error) bool {
	switch db.kind {
	case "postgres":
		switch sqlState(err) {
		case "40001", "40P01", "55P03": // serialization, deadlock, lock not available
			return true
		case "0A000": // a prepared statement whose result columns have changed their types
			return true
		}
	case "mysql":
		switch mysqlNumber(err) {
		case 1205, 1213, 1412: // lock wait timeout, deadlock, table definition has changed
			return true
		case 1615, 1146: // a prepared INSERT gets these from MySQL and MariaDB, respectively, while a trigger is being created
			return true
		}
	default:
		code := sqliteCode(err) & 0xff
		return code == 5 || code == 6 || code == 17 // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_SCHEMA
	}
	return false
}
