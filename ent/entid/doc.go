// Package entid generates 64-bit, time-ordered ids for the rows that a program creates with
// ent. The ids come from an idgen pool.
//
// Add the mixin to your schema:
//
//	func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
//
// Then set the default pool in main. Also import the runtime package that ent generates for
// schemas with hooks. Without this import, ent can't create any rows:
//
//	import _ "example.com/app/ent/runtime"
//
//	idgen.SetDefault(pool)
//
// All new users now get an id, whether you create them with Create, CreateBulk or
// MapCreateBulk, through edges, in upserts or in transactions. An id that you've set
// yourself is kept unless it's zero. Within a call, ids ascend in slice order. If the
// generator fails, nothing is inserted and the error is a [RowError] wrapping the
// generator's.
//
// The package consists of:
//   - [Mixin], which declares a pk.ID in a BIGINT column. Its Name chooses one of the pool's
//     generators.
//   - [For], a mixin for other types: text columns, or a separate Go type for each entity.
//   - [Field], which declares a foreign key that is a field of the schema.
//   - [Hook], which fills ids from a source of your own, for client.Use.
//   - [Reserve], which generates all ids for a bulk create in one step.
//   - [Check], which compares ent's tables with the columns in the database.
//   - [BatchCreate] and [CreateNode], which you don't call yourself. The extension in package
//     [github.com/snowkey-go/snowkey/ent/entid/entidgen] generates code that calls them.
//
// Hooks are safe for concurrent use. They typically add a fraction of a microsecond per row,
// or two to three microseconds when [Hook] fills a typed key.
//
// On all databases, ent's migrations create the id as a column without auto-increment, and
// the same goes for foreign keys and join tables referring to it. The database therefore
// rejects rows without an id. In existing tables, migrations don't remove auto-increment.
// Call [Check] to find such tables.
//
// # Do not redeclare the id field
//
// An entity using the mixin must not declare its id as a field.Int64, not even with GoType.
// If it does, ent assumes that MySQL has chosen the ids of a bulk create, and replaces them
// in memory with LastInsertId and the numbers following it. These belong to other rows. If
// the call has edges, ent stores them under the wrong ids too.
//
// The hook only fills ids with a type from package pk. It ignores ids of type int or string,
// and the composite ids of edge schemas. If an entity has both the mixin and an id of
// another type, creating a row fails with a [*FieldError].
//
// Don't add the mixin to an entity whose id is also an edge's foreign key, because ent would
// send two ids for each row. SQLite doesn't report an error for this, and stores the one
// that isn't in memory.
//
// # Edge schemas
//
// An edge schema (edge.Through) with its own id works like any other entity as long as its
// rows are created explicitly:
//
//	client.Tagging.Create().SetPost(post).SetTag(tag)
//
// Rows of such a schema can't be added through the edge, as in AddTags(tag), because ent
// doesn't run any hooks for them. They have no id, so the database rejects them, along with
// the row that they belong to. (On MySQL, this requires strict mode, which is the default.)
// A default function for the id isn't a solution, because ent only calls it once for all of
// these rows (see ent issue 3710).
//
// # Upserts
//
// If an upsert finds an existing row, this row keeps its id, whether you resolve the conflict
// with UpdateNewValues, Ignore, DoNothing or a function. Call ent's ID method to get the id.
// What it returns depends on the database:
//
//	                      Postgres, SQLite           MySQL
//	Create…OnConflict     ID returns the row's       the same with the extension
//	with DoNothing        sql.ErrNoRows if it        the row's with the extension
//	                      exists
//	CreateBulk…OnConflict has only Exec              has only Exec
//
// On MySQL and MariaDB, ent doesn't support ID without the extension, or for text keys. Query
// the row by its unique column instead.
//
// If your program uses upserts, generate its client with the extension in package
// [github.com/snowkey-go/snowkey/ent/entid/entidgen]. A hook can't tell whether a row is part
// of an upsert, so without the extension there are the following problems. The extension
// fixes the first three. It also fixes the last one, except in bulk and for text keys:
//
//   - sql.ResolveWithNewValues on its own replaces an existing row's id. UpdateNewValues,
//     which is built on it, doesn't have this problem.
//   - On Postgres and SQLite, a bulk DoNothing stores the call's edges under the wrong rows.
//     Use Ignore, or add the edges afterwards.
//   - On MySQL and MariaDB, edges in an upsert are stored under the new id even if the row
//     already exists with a different id. (A foreign key constraint would reject them.) Add
//     the edges afterwards. With the extension, you only need to do this in bulk and for text
//     keys.
//   - Hooks that read the id after a bulk upsert, or after any upsert on MySQL, see the new
//     id even if the row already exists with a different one.
package entid
