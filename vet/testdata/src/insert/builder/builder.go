// Package builder inserts with squirrel.
package builder

import "github.com/Masterminds/squirrel"

const schema = `CREATE TABLE feed (id SERIAL PRIMARY KEY, name text);
CREATE TABLE feed_cache (feed_id BIGINT, key text);`

func add(id int64, columns []string) {
	squirrel.Insert("feed").Columns("name").Values("a").Exec()                           // want "INSERT INTO feed leaves its key id to the database"
	squirrel.Insert("feed").Prefix("WITH x AS (SELECT 1)").Columns("name", "url").Exec() // want "INSERT INTO feed leaves its key"
	squirrel.Insert("feed").Columns("id", "name").Values(id, "a").Exec()                 // fine
	squirrel.Insert("feed").Columns(columns...).Exec()                                   // fine
	squirrel.Insert("feed_cache").Columns("feed_id", "key").Exec()                       // fine
}
