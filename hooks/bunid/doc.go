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
// A model's key is filled if the model embeds [Filled], directly or in a base struct,
// or if its BeforeInsert calls [Fill]. The key's type must be one of package pk, int64,
// uint64, string or a named type of these. By default, bun creates a column without
// auto-increment for such a key:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// On SQLite bun creates an INTEGER PRIMARY KEY column for a 64-bit key. If a row is
// inserted into it without a key, SQLite numbers the row. With type:bigint in the tag,
// SQLite rejects such a row, as the other databases do. [Check] finds columns that
// number rows, and columns that are too narrow.
//
// A key that is zero is filled. Any other key is kept. The caller must set composite
// keys, and primary keys that are also the foreign key of a relation.
//
// # Guarantees
//
// After an INSERT, either the key in memory is the key in the table, or the call has
// failed. This holds for
//   - a struct, and a slice of structs, of pointers or of interfaces;
//   - Column, Value, Returning, Ignore, On and Replace;
//   - transactions and single connections.
//
// If this is impossible for an INSERT, it fails before anything is sent. Examples are a
// key that Column leaves out or Value overwrites, a nil row, and a field that cannot
// hold a key. With [Use], maps, NewValues and models whose hook does not run are
// checked as well.
//
// Keys ascend in the order of the rows, because all keys for an INSERT are generated
// together. If that fails, the INSERT returns an error that wraps the generator's error,
// and the rows are left unchanged. If the INSERT fails for any other reason, the rows keep
// their new keys, so retrying it cannot insert the same rows twice.
//
// # Conflicts
//
// An INSERT with ON CONFLICT, IGNORE or ON DUPLICATE KEY may skip or merge rows. Such
// an INSERT sends new keys without setting them in memory, because RETURNING yields the
// keys that are in the table. Afterwards a skipped row has no key, and a merged row has
// the key of the row in the table. If Returning lists columns, it must list the key. If
// the results go elsewhere, as with Scan(ctx, &id), the key is stored there.
//
// bun assigns the rows that RETURNING yields to the first rows of the slice, even if
// the database has skipped one of these. An INSERT of a slice therefore fails unless it
// has Returning("*"). With it, the slice then contains only the rows that are in the
// table.
//
// MySQL has no RETURNING, so such an INSERT fails there unless the caller has set all
// keys. MariaDB has RETURNING. Keys that the caller sets are not changed or checked, on
// any database.
//
// # How it works
//
// bun calls BeforeInsert once for each INSERT, and after it BeforeAppendModel for each
// row. So BeforeAppendModel sees the key, and may set another. Because BeforeInsert is
// a method of the model, a model's own BeforeInsert replaces the embedded one. [Use]
// finds such models by calling the method. It also installs a query hook, which sees
// statements for which bun calls no hooks of the model. At that point it is too late to
// fill keys, so the query hook rejects the statement.
//
// # Limits
//
// The package does not see SQL that you write by hand, except NewValues in NewRaw. The
// query hook belongs to the database that [Use] returns, so do not work with the one
// that was passed to Use. The package finds the model for a map by its table, so the
// model must be registered.
package bunid
