// Package entid fills the ids of ent entities with 64-bit, time-ordered numbers, which
// an idgen pool generates when a row is created.
//
// Add the mixin to the schema,
//
//	func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
//
// and in main set the pool and import the runtime package that ent generates for
// schemas with hooks. Without this import ent rejects new rows:
//
//	import _ "example.com/app/ent/runtime"
//
//	idgen.SetDefault(pool)
//
// The id is then filled in every way of creating a User: Create, CreateBulk,
// MapCreateBulk, edges, upserts, transactions. An id that is set already is kept,
// unless it is zero. The rows of one call get ascending ids in the order of the slice.
// If the generator fails, the call fails and inserts nothing. The error is a [RowError]
// that wraps the generator's error.
//
// The package has these parts:
//   - [Mixin] declares a pk.ID in a BIGINT column. Its Name chooses a generator of the pool.
//   - [For] is the mixin for another type: text columns, or a key per entity.
//   - [Field] declares a foreign key that is a field of the schema.
//   - [Hook] fills ids from a source of your own, for client.Use.
//   - [Reserve] generates all ids of a bulk create in one step.
//   - [Check] compares ent's tables with the columns in the database.
//
// Hooks are safe for concurrent use. They add a fraction of a microsecond to a row, or two
// or three microseconds if [Hook] fills a typed key.
//
// Migrations create the id, and all foreign keys and join tables that refer to it, as
// plain columns. There is no AUTO_INCREMENT, no identity, and on SQLite no alias of the
// rowid. The database therefore rejects a row that is inserted without an id.
// Migrations do not change a table that already has auto-increment. [Check] finds such
// tables.
//
// # Do not redeclare the id field
//
// Do not declare the id of such an entity again as a field.Int64, with or without
// GoType. ent assumes that MySQL chose the numeric ids of a bulk create. It therefore
// gives the rows LastInsertId and the numbers after it, which are ids of other rows,
// and stores the edges of the same call under these ids.
//
// The hook fills ids of the types of package pk. It ignores ids of type int or string,
// which ent or the program fills, and composite ids of edge schemas. If an entity with
// the mixin has an id of another type, creating a row fails with a [*FieldError]. Do
// not add the mixin to an entity whose id is also the foreign key of an edge, because
// the row would get two ids. SQLite does not report this, and keeps the id that is not
// in memory.
//
// # Edge schemas
//
// A row of an edge schema (edge.Through) with an id of its own is created like any entity:
//
//	client.Tagging.Create().SetPost(post).SetTag(tag)
//
// ent calls no hooks for rows that are added through the edge, as in AddTags(tag).
// Because these rows have no id, the database rejects them together with the row that
// they belong to. MySQL does so in its strict mode, the default. A default function for
// the id does not help, because ent calls it once for all of these rows (ent issue
// 3710).
//
// # Upserts
//
// An existing row keeps its id, whether UpdateNewValues, Ignore, DoNothing or a
// function resolves the conflict. Only ent's ID method returns the id of an upsert:
//
//	                      Postgres, SQLite           MySQL
//	Create…OnConflict     ID returns the row's       ent refuses ID, use Exec
//	with DoNothing        sql.ErrNoRows if it        the same
//	                      exists
//	CreateBulk…OnConflict has only Exec              has only Exec
//
// A hook cannot see that a row belongs to an upsert, so these faults of ent remain:
//
//   - sql.ResolveWithNewValues, used by itself, replaces the id of an existing row.
//     UpdateNewValues, which is built on it, does not.
//   - DoNothing in bulk stores the edges of the call under the wrong rows, on Postgres and
//     SQLite. Use Ignore, or add the edges later.
//   - Hooks that read the id after a bulk upsert, or after any upsert on MySQL, see the
//     new id, even if the row exists and has another. On MySQL ent stores the edges of
//     the call under the new id, and the foreign key rejects them.
package entid
