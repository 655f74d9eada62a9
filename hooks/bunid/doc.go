// Package bunid generates 64-bit, time-ordered primary keys for rows inserted with bun.
//
//	type User struct {
//		bunid.Filled
//		ID   pk.ID `bun:",pk"`
//		Name string
//	}
//
//	db, err := bunid.Use(bun.NewDB(conn, pgdialect.New()), (*User)(nil)) // once
//	…
//	_, err = db.NewInsert().Model(&user).Exec(ctx) // fills user.ID
//
// Keys come from [idgen.Default]. To use another source for a model, call [Fill] from a
// BeforeInsert of your own.
//
// # Which keys are filled
//
// Embed [Filled] in each model whose key should be filled, either directly or through a base
// struct, or call [Fill] in its BeforeInsert. The key can have a type from package pk,
// int64, uint64, string, or a named type based on one of these. Except on SQLite, bun creates
// columns without auto-increment for these keys:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// On SQLite, bun declares 64-bit keys as INTEGER PRIMARY KEY, and SQLite numbers rows that
// other programs insert without a key. Add type:bigint to the tag to have SQLite reject such
// rows, as other databases do. To find columns that number their rows or are too narrow,
// call [Check].
//
// Only zero keys are filled. The caller must set composite keys, and primary keys that are
// also the foreign key of a relation.
//
// # Guarantees
//
// If an INSERT returns without an error, each row's key in memory is its key in the table.
// This guarantee covers
//   - a struct, and a slice of structs, of pointers or of interfaces;
//   - Column, Value, Returning, Ignore, On and Replace;
//   - transactions and single connections.
//
// If bunid can't guarantee this, the INSERT fails before anything is sent. For example,
// Column may leave out the key, Value may overwrite it, a row may be nil, or a field may be
// too small for a key. The database returned by [Use] also checks maps, NewValues, and models
// whose hook doesn't run.
//
// All keys for an INSERT are generated at once, in row order. If the generator fails, the
// INSERT returns an error wrapping the generator's, and doesn't change the rows. After any
// other error, the rows keep their new keys. This means that you can safely retry the INSERT:
// if the first attempt did insert the rows, the database rejects them the second time.
//
// # Conflicts
//
// An INSERT with ON CONFLICT, IGNORE or ON DUPLICATE KEY may skip rows, or merge them into
// existing rows. After such an INSERT, a skipped row has no key, and a merged row has the key
// of the existing row. The keys are read back with RETURNING. If you pass a list of columns
// to Returning, it must include the key. If you scan the results elsewhere, as in
// Scan(ctx, &id), the key is only stored there.
//
// For a slice, you must use Returning("*"). bun then replaces the slice with the rows that
// are in the table. Without Returning("*") the INSERT fails, because bun would assign the
// returned keys to the wrong rows if the database has skipped one.
//
// MySQL has no RETURNING (MariaDB does). An INSERT that may skip or merge rows fails there
// unless the caller has set all keys. These keys are neither changed nor checked.
//
// # How it works
//
// For each INSERT, bun calls BeforeInsert once and then BeforeAppendModel for every row.
// This means that BeforeAppendModel can use the new key or replace it.
//
// Keys aren't filled if a model declares a BeforeInsert that doesn't call [Fill], or if bun
// runs no hooks for a statement. [Use] detects both.
//
// # Limits
//
//   - Keys in handwritten SQL are neither filled nor checked, except for NewValues in NewRaw.
package bunid
