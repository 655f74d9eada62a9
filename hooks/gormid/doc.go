// Package gormid is a GORM plugin that generates the primary keys of new rows. Keys are
// 64-bit, time-ordered numbers that are known before the INSERT.
//
//	type User struct {
//		ID   pk.ID
//		Name string
//	}
//
//	db.Use(gormid.New(gormid.Config{})) // once, before the first row
//	db.AutoMigrate(&User{})             // id bigint PRIMARY KEY, without auto-increment
//	db.Create(&User{Name: "Ada"})       // fills ID
//
// The plugin gets keys from [idgen.Default], or from [Config.Source] if it's set.
//
// # Which keys are filled
//
// The plugin fills primary keys with a type from package pk, or a pointer to one. To use
// int64, uint64, string, or a named type based on one of these instead, add the snowkey tag.
// Integers also need autoIncrement:false. Otherwise GORM makes them auto-increment:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// [Model] can be used in place of gorm.Model, and has a pk.ID as its key. For existing
// models that can't be changed, see [Config.FillIntegers].
//
// Always tag a pk.Text with size:20 and a pk.SortText with size:13. Without a size, GORM
// uses the wrong length for the column, and AutoMigrate alters it each time it runs.
//
// The plugin only fills zero keys and pointers to zero. The caller must set the following
// keys, and the call fails if one of them is missing:
//   - the parts of a composite key;
//   - a primary key that is also the foreign key of a relation. If the relation isn't
//     declared in a model, tag such a key with snowkey:-.
//
// # Guarantees
//
// If a call returns without an error, each row's key in memory is its key in the table. If
// the plugin can't ensure this, the call fails and its transaction is rolled back. This
// guarantee holds on every database, and covers
//   - Create, Save, FirstOrCreate, CreateInBatches, associations and the generic API;
//   - structs, slices, arrays, maps and their associations;
//   - Select and Omit, hooks and SkipHooks, prepared statements and savepoints.
//
// All keys for an INSERT are generated at once, in row order. If the generator fails, Create
// returns an error wrapping the generator's, and doesn't change the rows. Keys are generated
// before a transaction begins, except when GORM inserts several batches or a row with
// associations.
//
// If a call fails after the keys have been generated, the rows keep their keys, so that it's
// safe to retry the call. For example, if the commit succeeded but the connection was lost
// before the reply, the retry fails because the keys exist, rather than inserting the rows a
// second time.
//
// # Conflicts
//
// When ON CONFLICT or INSERT IGNORE skips a row, the plugin resets the key it generated for
// that row to zero. A program can use this to find out which rows of a batch were skipped.
//
// GORM also skips associated rows that already exist, such as the tags of a new post. Such a
// row gets the key of the existing row, which the plugin looks up by its unique values. For
// example, a program can create posts with tags without knowing which tags are in the table.
//
// When an upsert updates an existing row, the row in memory gets the existing row's key. If
// the INSERT doesn't return this key, the plugin looks it up by the unique columns, so
// always name these in clause.OnConflict (even on MySQL, where GORM itself ignores them). If
// the plugin can't find the key, the call fails and is rolled back. With
// SkipDefaultTransaction, there may be no transaction to roll back.
//
// MySQL also updates existing rows that conflict on a unique key that isn't named in the
// clause, where other databases return an error. The plugin detects this, and the call
// fails. It also fails if a row conflicts with two existing rows, because the plugin cannot
// know which of them MySQL has updated.
//
// These guarantees may cost an additional query. To find skipped and merged rows, the plugin
// executes a SELECT by primary key in the same transaction. On Postgres and SQLite, it only
// does this if a row might be missing. On MySQL, it does this after every INSERT that can
// skip or merge rows with new keys, including those with which GORM saves associations.
//
// # Refused declarations and calls
//
// A [FieldError] means that a model's declaration must be changed, e.g. because the key is
// too narrow, the database numbers it, or GORM would truncate a foreign key. List models in
// [Config.Models] to get these errors on startup rather than when the first row is created.
//
// A [RowError] means that a call can't be executed, e.g. because a struct is passed by
// value, a row is nil, the key is omitted, or a map contains an invalid key (such as a
// float64 from JSON, which may have lost digits).
//
// Call [Check] on startup or in CI to compare models with the columns in the database.
//
// # How it works
//
// The plugin registers three callbacks around GORM's own:
//
//	snowkey:fill     first: generates and sets the keys
//	                 gorm:begin_transaction, gorm:before_create (BeforeSave, BeforeCreate),
//	                 gorm:save_before_associations
//	snowkey:check    rejects rows without a key, and INSERTs without its column
//	                 gorm:create
//	snowkey:settle   reads keys back where a row may be missing
//	                 gorm:save_after_associations, …
//
// This means that a model's BeforeCreate can use the new key or replace it.
//
// # Limits
//
//   - The plugin doesn't see SQL in Exec or Raw. For such statements, get keys from the pool.
//   - Rows from maps with db.Table("users").Create(m) need [Config.Models].
//   - Don't pass arrays to CreateInBatches. GORM panics before it calls any plugin.
package gormid
