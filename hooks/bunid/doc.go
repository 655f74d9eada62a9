// Package bunid fills the primary keys of the rows that bun inserts with 64-bit,
// time-ordered numbers.
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
// The keys come from [idgen.Default]. A hook of your own can pass another source to
// [Fill].
//
// # Which keys are filled
//
// The key of a model is filled if the model embeds [Filled], directly or in a base
// struct, or if its BeforeInsert calls [Fill]. Its type is one of package pk, int64,
// uint64, string or a named type of these. bun makes such a column without
// auto-increment, unless the tag asks for it:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// On SQLite bun makes an INTEGER PRIMARY KEY for 64 bits. SQLite numbers rows in such a
// column if they come without a key. With type:bigint in the tag it refuses them, as the
// other databases do. [Check] finds such columns, and columns that are too narrow.
//
// A key that is zero is filled. Any other key is kept. The caller sets composite keys,
// and keys that a relation makes foreign keys.
//
// # Guarantees
//
// After an INSERT, the key in memory is the key in the table, or the call has failed. This
// holds for
//   - a struct, and a slice of structs, of pointers or of interfaces;
//   - Column, Value, Returning, Ignore, On and Replace;
//   - transactions and single connections.
//
// An INSERT for which this is impossible is refused before anything is sent. Examples
// are a key that Column leaves out or Value overwrites, a nil row, and a field that
// cannot hold a key. With [Use], maps, NewValues and models whose hook does not run are
// checked as well.
//
// Keys ascend in the order of the rows, because all keys for an INSERT are generated
// together. If that fails, the INSERT returns an error that wraps the generator's error,
// and the rows are left unchanged. If the INSERT fails for any other reason, the rows keep
// their new keys, so retrying it cannot insert the same rows twice.
//
// # Conflicts
//
// An INSERT with ON CONFLICT, IGNORE or ON DUPLICATE KEY may skip or merge rows. It sends
// keys but does not set them in memory, because they come back with RETURNING. A row that
// was skipped has no key afterwards. A row that was merged has the key of the row in the
// table. If Returning lists columns, it must list the key. Results that go elsewhere, as
// with Scan(ctx, &id), have the key there.
//
// bun assigns the rows that RETURNING yields to the first rows of the slice. So a slice
// needs Returning("*"), and then holds only the rows that are in the table. Without it the
// INSERT is refused.
//
// MySQL has no RETURNING. There such an INSERT is refused unless the caller has set all
// keys. Keys that the caller sets are not changed or checked, on any database. MariaDB has
// RETURNING.
//
// # How it works
//
// bun calls BeforeInsert once for each INSERT, before BeforeAppendModel, which it calls
// for each row. So BeforeAppendModel sees the key, and may set another. BeforeInsert is a
// method of the model, so a model's own BeforeInsert replaces the embedded one. Use finds
// such models by calling the method. A query hook sees statements for which bun calls no
// hooks. It is too late to fill keys there, so the statement is refused.
//
// # Limits
//
// The package does not see SQL that you write by hand, except NewValues in NewRaw. It does
// not see queries of the database that was passed to Use. Work with the one that Use
// returned. Maps are known by the tables of registered models.
package bunid
