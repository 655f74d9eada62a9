package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	"entgo.io/ent/dialect"
	_ "github.com/glebarez/go-sqlite" // the drivers
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A database is a connection with ent's name of its kind.
type database struct {
	*sql.DB
	kind string // dialect.Postgres, dialect.MySQL or dialect.SQLite
}

// open connects to the database of dsn or, without one, to a file in dir.
func open(ctx context.Context, kind, dsn, dir, file string) (database, error) {
	driver := map[string]string{dialect.Postgres: "pgx", dialect.MySQL: "mysql"}[kind]
	if dsn == "" {
		uri := url.URL{Path: filepath.Join(dir, file)} // the driver takes a URI, where # and ? would end the path
		kind, driver, dsn = dialect.SQLite, "sqlite", "file:"+uri.EscapedPath()+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)"
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

// store returns the store of the leases in the database.
func (db database) store() *sqlstore.Store {
	switch db.kind {
	case dialect.Postgres:
		return sqlstore.Postgres(db.DB)
	case dialect.MySQL:
		return sqlstore.MySQL(db.DB)
	default:
		return sqlstore.SQLite(db.DB)
	}
}
