// Package bunid generates 64-bit, time-ordered primary keys for the rows you insert with bun.
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
// Keys come from [idgen.Default]. For any other source, write your own hook and pass the
// source to [Fill].
//
// # Which keys are filled
//
// A model opts in by embedding [Filled], either directly or through a base struct, or by
// calling [Fill] from its BeforeInsert. Supported key types are those in package pk, int64,
// uint64, string, and named types based on any of these. bun doesn't use auto-increment for
// such columns by default:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// SQLite is a special case. bun declares 64-bit keys as INTEGER PRIMARY KEY there, and SQLite
// happily assigns a number to any row without a key. Adding type:bigint to the tag makes it
// reject those rows like other databases do. [Check] finds columns that number their rows, as
// well as ones that are too narrow.
//
// Only zero keys are filled. You're responsible for composite keys, and for a primary key
// that's also a relation's foreign key.
//
// # Guarantees
//
// After a successful INSERT, the key in memory is the key in the table. This covers
//   - a struct, and a slice of structs, of pointers or of interfaces;
//   - Column, Value, Returning, Ignore, On and Replace;
//   - transactions and single connections.
//
// An INSERT that can't keep this promise fails before anything is sent: for example, because
// Column leaves out the key, Value overwrites it, a row is nil, or the field can't hold a
// key. [Use] extends these checks to maps, NewValues, and models whose hook doesn't run.
//
// All keys for an INSERT are generated together, in row order. You'll get an error wrapping
// the generator's if that fails, with the rows left unchanged. After any other error the rows
// keep their new keys so that retrying the INSERT can't add the same rows twice.
//
// # Conflicts
//
// Things get more complicated with ON CONFLICT, IGNORE and ON DUPLICATE KEY, which may skip
// or merge rows. Here, the new keys are sent but not set in memory; the rows then get the
// keys that RETURNING reports. As a result, a skipped row ends up without a key, and a merged
// row has the key of the row that was already there. Include the key if you pass a column
// list to Returning. And when the results go somewhere else, as in Scan(ctx, &id), that's
// where you'll find the key.
//
// Slices need Returning("*"); the INSERT fails otherwise. bun assigns the returned rows to
// the first elements of the slice, even when the database has skipped a row in between. With
// Returning("*") the slice is replaced, and just contains what's in the table afterwards.
//
// Since MySQL has no RETURNING (MariaDB does), these statements fail there unless you've set
// all the keys yourself. Keys you set are neither changed nor checked.
//
// # How it works
//
// For each INSERT, bun calls BeforeInsert once and then BeforeAppendModel for every row. Your
// BeforeAppendModel can therefore use the key, or replace it.
//
// BeforeInsert is a method on the model, so declaring your own shadows the embedded one. [Use]
// detects this by calling the method. It also installs a query hook, which sees statements
// even when bun runs none of the model's hooks for them. By then it's too late for filling
// keys, so all the query hook can do is reject the statement.
//
// # Limits
//
// Handwritten SQL isn't covered, apart from NewValues in NewRaw. Make sure you use the
// database returned by [Use] rather than the one you passed in, which doesn't have the query
// hook. Models have to be registered before you can insert maps into their tables: that's how
// we know which column is the key.
package bunid
