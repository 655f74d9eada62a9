package sqltoken

import (
	"embed"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// ddl has the statements that create the table, in a file for each dialect.
//
//go:embed *.sql
var ddl embed.FS

// The {words} are replaced by words of the dialect, and {table} by the table.
const (
	addText        = `{write}INSERT INTO {table} (id, user_id, hash, seen, expires) VALUES (@id, @user, @hash, @seen, {expires}){or none}{changed}`
	touchText      = `{write}UPDATE {table} SET seen = @seen WHERE id = @id AND seen < @seen{and here}{changed}`
	revokeText     = `{write}DELETE FROM {table} WHERE id = @id AND user_id = @user{and here}{changed}`
	revokeUserText = `{write}DELETE FROM {table} WHERE user_id = @user{and here}{changed}`
	cleanupText    = `{write}DELETE FROM {table} WHERE {among the first}{and here}{changed}`

	// These also return whether autocommit is on.
	userText     = `{read}SELECT user_id, hash, seen, {autocommit} FROM {table} WHERE id = @id`
	sessionsText = `{read}SELECT id, {autocommit} FROM {table} WHERE user_id = @user ORDER BY id DESC`
)

// firstText finds the sessions that one statement of Cleanup deletes.
const firstText = "id IN (SELECT id FROM {table} WHERE expires < @before ORDER BY expires LIMIT 1000)"

var words = map[sqldialect.Dialect]*strings.Replacer{
	// A write returns the number of rows that it changed. It always returns a row.
	// Otherwise package sqlsession would not find out that the connection is in a
	// transaction with an old snapshot, in which the statement finds no row to delete.
	// Each write reads the row of here first, which limits the wait for a lock.
	sqldialect.Postgres: replacer(
		"{read}", sqlsession.ToPrimary, // a standby may not know yet that a session was revoked
		"{write}", sqlsession.Begin+"),\nchanged AS (",
		"{expires}", "(SELECT @expires FROM here)",
		"{and here}", " AND EXISTS (SELECT 1 FROM here)",
		"{changed}", " RETURNING 1)\nSELECT (SELECT count(*) FROM changed) FROM here",
	),
	sqldialect.MySQL: replacer(
		"{autocommit}", "@@autocommit",
		"{or none}", "", // IGNORE would hide other errors too
		"{among the first}", "expires < @before ORDER BY expires LIMIT 1000",
	),
	// SQLite makes all changes before it returns the first row, so it doesn't matter that
	// package sqlsession only reads one.
	sqldialect.SQLite: replacer("{changed}", " RETURNING id"),
}

// replacer returns a replacer for a dialect's words and, below, those of most dialects.
func replacer(of ...string) *strings.Replacer {
	return strings.NewReplacer(append(of,
		"{read}", "", "{write}", "", "{and here}", "", "{changed}", "",
		"{autocommit}", "1",
		"{expires}", "@expires",
		"{or none}", " ON CONFLICT (id) DO NOTHING",
		"{among the first}", firstText,
	)...)
}
