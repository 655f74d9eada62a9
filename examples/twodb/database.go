package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	"entgo.io/ent/dialect"
	_ "github.com/glebarez/go-sqlite" // register the drivers
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A database is a connection, along with ent's name for the kind of database.
type database struct {
	*sql.DB
	kind string // dialect.Postgres, dialect.MySQL or dialect.SQLite
}

// open connects to the database of dsn. If dsn is empty, it uses a file in dir instead.
func open(ctx context.Context, kind, dsn, dir, file string) (database, error) {
	driver := map[string]string{dialect.Postgres: "pgx", dialect.MySQL: "mysql"}[kind]
	if dsn == "" {
		uri := url.URL{Path: filepath.Join(dir, file)} // the driver expects a URI, in which # or ? would end the path
		kind, driver, dsn = dialect.SQLite, "sqlite", "file:"+uri.EscapedPath()+"?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return database{}, err
	}
	if err := db.PingContext(ctx); err != nil {
		return database{}, errors.Join(err, db.Close())
	}
	return database{db, kind}, nil
}

// store returns the store for leases in this database.
func (db database) store() lease.Store {
	switch db.kind {
	case dialect.Postgres:
		return sqlstore.Postgres(db.DB)
	case dialect.MySQL:
		return sqlstore.MySQL(db.DB)
	default:
		return sqlstore.SQLite(db.DB)
	}
}
