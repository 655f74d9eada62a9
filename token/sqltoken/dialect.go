package sqltoken

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed" // for the DDL

	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A dialect has what differs between kinds of databases.
type dialect struct {
	sqlsession.Dialect
	ddl string // the statement that creates the table

	// In each of these, {table} stands for the table. @batch must be the constant
	// batch.
	add, touch, revoke, revokeUser, cleanup string
	user, sessions                          string // also return whether autocommit is on

	// write runs one of the statements and returns when it is committed. changed is false
	// if no row was changed.
	write func(ctx context.Context, db *sql.DB, mark, query string, values []any) (changed bool, err error)
}

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

//go:embed sqlite.sql
var sqliteDDL string

// inPostgres makes a statement return the number of rows that it changed. It always
// returns a row. Otherwise package sqlsession would not find out that the connection is in a
// transaction with an old snapshot, in which the statement finds no row to delete.
func inPostgres(statement string) string {
	return `WITH here AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', @patience, true), set_config('snowkey.write', @mark, true)),
changed AS (` + statement + ` RETURNING 1)
SELECT (SELECT count(*) FROM changed) FROM here`
}

var postgres = &dialect{
	Dialect:  sqlsession.Postgres,
	ddl:      postgresDDL,
	user:     sqlsession.ToPrimary + `SELECT user_id, hash, seen, 1 FROM {table} WHERE id = @id`, // a standby may not know yet that it was revoked
	sessions: sqlsession.ToPrimary + `SELECT id, 1 FROM {table} WHERE user_id = @user ORDER BY id DESC`,
	add: inPostgres(`INSERT INTO {table} (id, user_id, hash, seen, expires) SELECT @id, @user, @hash, @seen, @expires FROM here
	ON CONFLICT (id) DO NOTHING`),
	touch:      inPostgres(`UPDATE {table} SET seen = @seen FROM here WHERE id = @id AND seen < @seen`),
	revoke:     inPostgres(`DELETE FROM {table} USING here WHERE id = @id AND user_id = @user`),
	revokeUser: inPostgres(`DELETE FROM {table} USING here WHERE user_id = @user`),
	cleanup:    inPostgres(`DELETE FROM {table} USING here WHERE id IN (SELECT id FROM {table} WHERE expires < @before ORDER BY expires LIMIT @batch)`),
	write: func(ctx context.Context, db *sql.DB, mark, query string, values []any) (bool, error) {
		count, changed, err := sqlsession.WritePostgres(ctx, db, mark, query, values)
		return changed && count > 0, err
	},
}

var mysql = &dialect{
	Dialect:    sqlsession.MySQL,
	ddl:        mysqlDDL,
	user:       `SELECT user_id, hash, seen, @@autocommit FROM {table} WHERE id = @id`,
	sessions:   `SELECT id, @@autocommit FROM {table} WHERE user_id = @user ORDER BY id DESC`,
	add:        `INSERT INTO {table} (id, user_id, hash, seen, expires) VALUES (@id, @user, @hash, @seen, @expires)`,
	touch:      `UPDATE {table} SET seen = @seen WHERE id = @id AND seen < @seen`,
	revoke:     `DELETE FROM {table} WHERE id = @id AND user_id = @user`,
	revokeUser: `DELETE FROM {table} WHERE user_id = @user`,
	cleanup:    `DELETE FROM {table} WHERE expires < @before ORDER BY expires LIMIT 1000`, // a parameter would become (1000), which LIMIT does not accept,
	write: func(ctx context.Context, db *sql.DB, _, query string, values []any) (bool, error) {
		_, changed, err := sqlsession.WriteMySQL(ctx, db, sqlsession.Settings{}, nil, query, values)
		if sqlsession.Number(err) == duplicateKey {
			return false, nil
		}
		return changed, err
	},
}

const duplicateKey = 1062 // of MySQL

// SQLite makes all changes before it returns the first row, so it doesn't matter that
// package sqlsession only reads one.
var sqlite = &dialect{
	Dialect:  sqlsession.SQLite,
	ddl:      sqliteDDL,
	user:     `SELECT user_id, hash, seen, 1 FROM {table} WHERE id = @id`,
	sessions: `SELECT id, 1 FROM {table} WHERE user_id = @user ORDER BY id DESC`,
	add: `INSERT INTO {table} (id, user_id, hash, seen, expires) VALUES (@id, @user, @hash, @seen, @expires)
ON CONFLICT (id) DO NOTHING RETURNING id`,
	touch:      `UPDATE {table} SET seen = @seen WHERE id = @id AND seen < @seen RETURNING id`,
	revoke:     `DELETE FROM {table} WHERE id = @id AND user_id = @user RETURNING id`,
	revokeUser: `DELETE FROM {table} WHERE user_id = @user RETURNING id`,
	cleanup:    `DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE expires < @before ORDER BY expires LIMIT @batch) RETURNING id`,
	write: func(ctx context.Context, db *sql.DB, mark, query string, values []any) (bool, error) {
		_, changed, err := sqlsession.WriteSQLite(ctx, db, mark, query, values)
		return changed, err
	},
}

// attempts is how often a write is tried that conflicts with another.
const attempts = 3

// write runs a statement of the dialect with these values.
func (s *Store) write(ctx context.Context, db *sql.DB, statement string, values map[string]any) (changed bool, err error) {
	values["patience"] = sqlsession.Patience(ctx)
	for range attempts {
		mark := rand.Text()
		values["mark"] = mark
		query, args := s.dialect.Bind(s.table.Fill(statement), values)
		if changed, err = s.dialect.write(ctx, db, mark, query, args); !isConflict(err) {
			break
		}
	}
	return changed, err
}

// isConflict reports whether the database has rolled back a write because of another one.
func isConflict(err error) bool {
	state, number := sqlsession.SQLState(err), sqlsession.Number(err)
	return state == "40001" || state == "40P01" || number == 1213 // MySQL's deadlock
}
