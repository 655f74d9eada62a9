// Package entid fills the ids of ent entities: 64-bit, time-ordered numbers
// drawn from an idgen pool when a row is created.
//
// A schema takes the mixin,
//
//	func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
//
// and main sets the pool and imports what ent generates for schemas with hooks,
// without which ent refuses to create rows:
//
//	import _ "example.com/app/ent/runtime"
//
//	idgen.SetDefault(pool)
//
// From then on every way of creating a User fills its id: Create, CreateBulk,
// MapCreateBulk, edges, upserts, transactions. An id that is set already is
// kept, zero is not. Rows of one call get ascending ids in the order of the
// slice. If no id can be had, the call fails and inserts nothing; the source's
// error is in the chain.
//
//	entid.Mixin{}               a pk.ID in a BIGINT column
//	entid.Mixin{Name: "orders"} the same, from the pool's generator "orders"
//	entid.For[pk.SortText]{}    another type: text columns, or a key per entity
//	entid.Field[pk.ID]{…}       a foreign key that the schema shows
//	entid.Hook(src)             ids from a source of your own, for client.Use
//	entid.Reserve(ctx, n)       all ids of a bulk create in one step
//	entid.Check(ctx, db, …)     ent's tables against the columns that are there
//
// Hooks are safe for concurrent use. They add a fraction of a microsecond to a
// row; two or three, where [Hook] meets a typed key.
//
// Migrations create the id, and all foreign keys and join tables that refer to
// it, as plain columns: no AUTO_INCREMENT, no identity, and on SQLite no alias
// of the rowid, so that a row inserted past ent without an id is refused. They
// do not change a table that has counted before: see [Check].
//
// # The id field stays as it is
//
// Do not declare the id of such an entity again as a field.Int64, with or
// without GoType. ent believes that MySQL chose the numeric ids of a bulk
// create, and gives the rows LastInsertId and the numbers after it, which are
// other rows' ids; edges of the same call are stored under them.
//
// The hook fills ids of the types of package pk. Ids of type int or string,
// which ent or the program fills, and composite ids of edge schemas are left
// alone. A mixin in an entity whose id is of another type is a [*FieldError].
// An entity whose id is at the same time the foreign key of an edge must not
// have the mixin: on SQLite, the database does not notice that the row comes
// with two ids, and keeps the one that is not in memory.
//
// # Edge schemas
//
// A row of an edge schema (edge.Through) that has an id of its own is created
// as the entity it is:
//
//	client.Tagging.Create().SetPost(post).SetTag(tag)
//
// Rows that are added through the edge, as in AddTags(tag), are not seen by any
// hook. They come without an id, and the database refuses them, together with
// the row that they belong to; MySQL does so in its strict mode, the default.
// A default function for the id would not help: ent calls it once for all of
// them (ent issue 3710).
//
// # Upserts
//
// A row that exists keeps its id, whether the conflict is resolved by
// UpdateNewValues, Ignore, DoNothing or a function. The id of an upsert is had
// from ent's ID method, and nowhere else:
//
//	                      Postgres, SQLite           MySQL
//	Create…OnConflict     ID returns the row's       ID is refused by ent, use Exec
//	with DoNothing        sql.ErrNoRows if it        the same
//	                      exists
//	CreateBulk…OnConflict has only Exec              has only Exec
//
// Three things are ent's to get wrong, and no hook can see that the row it fills
// belongs to an upsert:
//
//   - sql.ResolveWithNewValues, which UpdateNewValues is built on, replaces the
//     id of an existing row if it is used by itself.
//   - DoNothing in bulk stores the edges of the call under the wrong rows, on
//     Postgres and SQLite. Use Ignore, or add the edges later.
//   - Hooks that look at the id after a bulk upsert, or after any on MySQL, see
//     the id that was proposed and not the row's. On MySQL, edges of the call
//     are stored under it; the foreign key refuses them.
package entid
