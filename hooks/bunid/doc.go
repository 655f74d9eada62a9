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
// Keys come from [idgen.Default]. A different source can be used by calling [Fill] from a
// custom hook.
//
// # Which keys are filled
//
// A model opts in by embedding [Filled], either directly or through a base struct, or by
// calling [Fill] in its BeforeInsert. Supported key types are those in package pk, int64,
// uint64, string, and named types based on any of these. By default, bun creates columns
// without auto-increment for them:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// SQLite is a special case. bun declares 64-bit keys as INTEGER PRIMARY KEY there, which
// means that SQLite will assign a number to any row without a key. Adding type:bigint to the
// tag makes it reject such rows like other databases do. [Check] can be used to find columns
// that number their rows, as well as columns that are too narrow.
//
// Only zero keys are filled. The caller is responsible for setting composite keys as well as
// primary keys that double as a relation's foreign key.
//
// # Guarantees
//
// After a successful INSERT, the key in memory is the key in the table. This covers
//   - a struct, and a slice of structs, of pointers or of interfaces;
//   - Column, Value, Returning, Ignore, On and Replace;
//   - transactions and single connections.
//
// If an INSERT can't keep this promise, it fails before anything is sent. Typical reasons
// are Column leaving out the key, Value overwriting it, a nil row, or a field that can't
// hold a key. [Use] extends these checks to maps, NewValues, and models whose hook doesn't
// run.
//
// All keys for an INSERT are generated together, in row order. If that fails, the INSERT
// returns an error wrapping the generator's without changing any rows. After any other error
// the rows keep their new keys, making it safe to retry the INSERT without adding the same
// rows again.
//
// # Conflicts
//
// ON CONFLICT, IGNORE and ON DUPLICATE KEY may skip or merge rows. In this case the new keys
// are sent but not yet set in memory, since only RETURNING can tell which of them actually
// made it into the table. A skipped row ends up without a key, and a merged row gets the key
// of the row that was already there. When Returning is given a list of columns, it must
// include the key. When results are sent elsewhere, as in Scan(ctx, &id), that's also where
// the key will be.
//
// For a slice, the INSERT will fail unless Returning("*") is used. The reason is that bun
// assigns returned rows to the first elements of the slice even when the database has
// skipped a row in between. With Returning("*"), the slice is replaced and only contains the
// rows that are in the table afterwards.
//
// On MySQL, which doesn't have RETURNING (though MariaDB does), these statements will fail
// unless all of the keys were set by the caller. Such keys are neither changed nor checked.
//
// # How it works
//
// For each INSERT, bun calls BeforeInsert once and then BeforeAppendModel for every row.
// This means that BeforeAppendModel is able to use the key or even replace it.
//
// Since BeforeInsert is a method on the model, declaring a custom one will shadow the
// embedded one. [Use] detects this by calling the method. It also installs a query hook,
// which sees even those statements for which bun doesn't run any model hooks. By then it's
// too late to fill keys. All the query hook can do is reject the statement.
//
// # Limits
//
// Handwritten SQL isn't covered, apart from NewValues in NewRaw. Make sure to keep using the
// database returned by [Use]. The original doesn't have the query hook. A model must be
// registered before maps can be inserted into its table, as there's no other way of knowing
// which column is the key.
package bunid
