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
// The keys come from [idgen.Default]. To use another source, pass it to [Fill] in your own
// hook.
//
// # Which keys are filled
//
// To have a model's key filled, embed [Filled] in the model or in its base struct, or call
// [Fill] in its BeforeInsert. The key can be of any type of package pk, an int64, uint64 or
// string, or a named type of these. By default, bun creates a column without auto-increment
// for such a key:
//
//	ID     pk.ID       `bun:",pk"`                   // BIGINT
//	ID     pk.Of[User] `bun:",pk"`                   // BIGINT, typed
//	ID     pk.SortText `bun:",pk,type:char(13)"`     // CHAR(13)
//	ID     pk.Text     `bun:",pk,type:varchar(20)"`  // VARCHAR(20), decimal
//	ID     int64       `bun:",pk"`                   // BIGINT
//	ID     pk.ID       `bun:",pk" snowkey:"orders"`  // from the pool's generator "orders"
//	UserID pk.ID       `bun:",pk" snowkey:"-"`       // the caller sets it
//
// Be careful with SQLite. There, bun makes a 64-bit key an INTEGER PRIMARY KEY, and SQLite
// numbers each row that is inserted without a key. Add type:bigint to the tag if you want
// it to reject such rows, as the other databases do. To find columns that number their
// rows or are too narrow, use [Check].
//
// Zero keys are filled and all others are kept. The caller must set composite keys, and
// primary keys that are also the foreign key of a relation.
//
// # Guarantees
//
// After an INSERT, the key in memory is the key in the table. Otherwise the call has failed.
// You can rely on this for
//   - a struct, and a slice of structs, of pointers or of interfaces;
//   - Column, Value, Returning, Ignore, On and Replace;
//   - transactions and single connections.
//
// If we can't make this work for an INSERT, it fails before anything is sent. That happens,
// for instance, if Column leaves out the key or Value overwrites it, if a row is nil, or if
// the field can't hold a key. With [Use], we also check maps, NewValues, and models whose
// hook doesn't run.
//
// Since all keys for an INSERT are generated together, they ascend in the order of the
// rows. If the generator fails, the INSERT returns an error that wraps the generator's, and
// leaves the rows unchanged. If it fails for any other reason, the rows keep their new
// keys. This means that you can retry it without inserting the same rows twice.
//
// # Conflicts
//
// An INSERT with ON CONFLICT, IGNORE or ON DUPLICATE KEY may skip or merge rows. In that
// case the new keys are sent but not set in memory, because RETURNING tells us which keys
// have made it into the table. Afterwards a skipped row has no key, and a merged row has
// the key of the row that was already there. If Returning lists columns, it must include
// the key. If you send the results elsewhere, as with Scan(ctx, &id), that's where you get
// the key.
//
// For slices, you need Returning("*"), or else the INSERT fails. The reason is that bun
// assigns the rows from RETURNING to the first rows of the slice, even if the database has
// skipped one of them. With Returning("*"), the slice only contains the rows that are in
// the table afterwards.
//
// MySQL doesn't have RETURNING, so such an INSERT fails there unless you have set all keys
// yourself. (MariaDB does have it.) Keys that you set are never changed or checked.
//
// # How it works
//
// bun calls BeforeInsert once for each INSERT, and then BeforeAppendModel for each row. This
// means that BeforeAppendModel can already see the key, and may replace it. Since
// BeforeInsert is a method of the model, a model's own BeforeInsert shadows the embedded
// one. [Use] finds such models by calling the method. It also installs a query hook, which
// sees even those statements for which bun doesn't call any hook of the model. At that
// point it's too late to fill keys, so the query hook rejects the statement.
//
// # Limits
//
// We can't see SQL that you write by hand, except for NewValues in NewRaw. The query hook
// belongs to the database that [Use] returns, so make sure not to use the one you've passed
// to it. To insert maps, register their model, because that's how we find the key of a
// table.
package bunid
