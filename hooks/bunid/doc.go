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
// The keys come from [idgen.Default], or from the source that a hook of your own
// gives to [Fill].
//
// # Which keys are filled
//
// The primary key of a model that embeds [Filled], directly or in a base struct,
// or whose BeforeInsert calls [Fill]. It is of a type of package pk, int64, uint64,
// string or a named type of these. bun makes columns without auto-increment of
// them, as long as the tag does not ask for it:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// SQLite's INTEGER PRIMARY KEY, which bun makes of 64 bits there, numbers rows that
// come without a key past bun. With type:bigint in the tag SQLite refuses those, as
// the other databases do. [Check] finds such columns, and those that are too narrow.
//
// A key that is zero is filled, any other is kept. A composite key, and a key
// that a relation makes a foreign key, are the caller's to set.
//
// # What holds
//
// After an INSERT of a struct, a slice of structs, of pointers or of interfaces,
// the key in memory is the key in the table, or the call has failed; with Column,
// Value, Returning, Ignore, On and Replace, in transactions and on connections. Where
// that cannot be had, the call is refused before anything is sent: a key that
// Column leaves out or Value overwrites, a nil row, a declaration that does not
// hold a key. With [Use] this is true of maps, NewValues and models whose hook does
// not run as well.
//
// Keys ascend in the order of the rows, and one INSERT draws all of its keys in
// one step. Where none can be had, the error wraps the generator's, and the rows
// are as they were. When an INSERT fails for another reason, the rows keep their
// new keys, so that repeating it cannot insert them twice.
//
// # Conflicts
//
// The keys of an INSERT that may leave rows out or merge them are sent, but not
// set in memory: they come back with RETURNING. A row that was left out has no key
// afterwards, a merged one that of the row in the table. A list of columns in
// Returning must then have the key. Results that go elsewhere, as with
// Scan(ctx, &id), have the key there.
//
// bun gives the rows that RETURNING yields to the first ones of the slice. So a
// slice needs Returning("*"), after which it holds what is stored and no more, and
// is refused without.
//
// MySQL has no RETURNING. There such an INSERT is refused, unless all keys are set
// already; keys that are set are the caller's, on any database. MariaDB has it.
//
// # How it works
//
// bun calls BeforeInsert once for each INSERT, before BeforeAppendModel, which it
// calls for each row: so that hook sees the key, and may set another. BeforeInsert
// is a method of the model, so that a model's own takes the place of the one it
// embeds; Use finds that out by calling it. What calls no hooks is seen by a query
// hook, too late to fill keys, and refused.
//
// # What it does not do
//
// It does not see SQL that is written by hand, but for NewValues in NewRaw, and not
// the database that was given to Use instead of the one that Use returned. Maps are
// known by the tables of registered models.
package bunid
