package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// connections is the maximum number of connections to a database.
const connections = 16

// A database is a server with a table, empty at first, for each kind of key.
type database struct {
	dialect string
	version string
	memory  string // size of the server's buffer
	sql     *sql.DB
	pgx     *pgxpool.Pool // nil unless this is Postgres
}

// newDatabase creates the tables in a server's database. Its connections are closed
// when t ends.
func newDatabase(t dbtest.TB, server dbtest.DB, conn *sql.DB) (db *database, err error) {
	dialect := server.Dialect
	db = &database{dialect: dialect, version: server.Version, sql: conn}
	conn.SetMaxOpenConns(connections)
	conn.SetMaxIdleConns(connections)
	if dialect == "postgres" {
		config, err := pgxpool.ParseConfig(server.DSN)
		if err != nil {
			return nil, err
		}
		config.MaxConns = connections
		if db.pgx, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
			return nil, err
		}
		t.Cleanup(db.pgx.Close)
	}
	buffer := map[string]string{
		"postgres": "SELECT setting::bigint * 8 / 1024 FROM pg_settings WHERE name = 'shared_buffers'",
		"mysql":    "SELECT @@innodb_buffer_pool_size DIV 1048576",
	}[dialect]
	var megabytes int64
	if err := conn.QueryRow(buffer).Scan(&megabytes); err != nil {
		return nil, err
	}
	db.memory = fmt.Sprintf("%d MB", megabytes)
	for _, k := range keyKinds() {
		for _, statement := range k.tableSQL(dialect) {
			if _, err := conn.Exec(statement); err != nil {
				return nil, fmt.Errorf("%s: %w", statement, err)
			}
		}
	}
	return db, nil
}

// tableSQL returns the statements that create the table for keys of kind k. Since most
// tables have a second index, so does this one.
func (k keyKind) tableSQL(dialect string) []string {
	time := map[string]string{"postgres": "timestamptz", "mysql": "datetime(6)"}[dialect]
	return []string{
		fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY, name varchar(255) NOT NULL, email varchar(255) NOT NULL, created_at %s NOT NULL)",
			k.table, k.column[dialect], time),
		fmt.Sprintf("CREATE INDEX %s_created_at ON %s (created_at)", k.table, k.table),
	}
}

// sizes has the sizes of a table on disk, in bytes.
type sizes struct {
	rows   int64 // includes the keys if the index of the key holds the rows
	key    int64 // index of the key; 0 if it holds the rows
	second int64 // index on created_at
}

func (db *database) sizes(k keyKind) (s sizes, err error) {
	if db.dialect == "postgres" {
		err = db.sql.QueryRow(`SELECT pg_table_size($1::regclass), pg_relation_size($2::regclass), pg_relation_size($3::regclass)`,
			k.table, k.table+"_pkey", k.table+"_created_at").Scan(&s.rows, &s.key, &s.second)
		return s, err
	}
	// The sizes are only exact after ANALYZE.
	var table, kind, message, text string
	if err := db.sql.QueryRow("ANALYZE TABLE "+k.table).Scan(&table, &kind, &message, &text); err != nil {
		return s, err
	}
	rows, err := db.sql.Query(`SELECT index_name, stat_value * @@innodb_page_size FROM mysql.innodb_index_stats
		WHERE database_name = DATABASE() AND table_name = ? AND stat_name = 'size'`, k.table)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	for rows.Next() {
		var index string
		var size int64
		if err := rows.Scan(&index, &size); err != nil {
			return s, err
		}
		if strings.EqualFold(index, "PRIMARY") {
			s.rows = size
		} else {
			s.second = size
		}
	}
	if err := rows.Err(); err != nil {
		return s, err
	}
	if s.rows == 0 {
		return s, errors.New("mysql.innodb_index_stats does not know " + k.table)
	}
	return s, nil
}
