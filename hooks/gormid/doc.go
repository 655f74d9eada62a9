// Package gormid is a GORM plugin. It fills the primary keys of new rows with 64-bit,
// time-ordered numbers.
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
// The keys come from [idgen.Default] or from [Config.Source].
//
// # Which keys are filled
//
// A primary key is filled if its type is one of package pk or a pointer to one. Keys
// of type int64, uint64 and string, and named types of these, need the tag snowkey.
// Integers also need autoIncrement:false. Without it GORM makes them auto-increment:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// [Model] is gorm.Model with a pk.ID. [Config.FillIntegers] also fills integer keys that
// have no tag, such as the ID of gorm.Model. Without it, the plugin leaves them to the
// database, and logs a warning for each model.
//
// Give a pk.Text size:20 and a pk.SortText size:13. GORM takes the 64 bits of the Go type
// for a length otherwise, and every AutoMigrate alters the column.
//
// A key that is zero, or a pointer to zero, is filled. Any other key is kept. The caller
// sets keys that are part of a composite key, and keys that a relation makes a foreign
// key. A row without such a key is refused. Tag a foreign key with snowkey:- if no
// relation declares it.
//
// # Guarantees
//
// After a call, the key in memory is the key in the table, or the call has failed and
// its transaction is rolled back. This holds on every database for
//   - Create, Save, FirstOrCreate, CreateInBatches, associations and the generic API;
//   - structs, slices, arrays, maps and their associations;
//   - Select and Omit, hooks and SkipHooks, prepared statements and savepoints.
//
// Keys ascend in the order of the rows, because all keys for an INSERT are generated
// together. If that fails, Create returns an error that wraps the generator's error, and
// the rows are left unchanged. No transaction
// has begun then, except the transaction that GORM puts around several batches, or around
// a row and its associations.
//
// If a call fails for another reason, the rows keep their new keys. So a retry cannot
// insert duplicate rows, even if the first commit succeeded and its reply was lost. A
// dry run fills keys too, because they are part of its SQL.
//
// # Conflicts
//
// A row that ON CONFLICT or INSERT IGNORE skipped has no key afterwards. So the keys
// show which rows of a batch were skipped.
//
// A row that was merged into an existing row has the key of that row. Where the INSERT
// does not return it, clause.OnConflict must name the unique columns, also on MySQL, where
// GORM ignores them.
// If the key of the existing row cannot be found, the call fails and is rolled back. With
// SkipDefaultTransaction there is nothing to roll back. On MySQL a row can be merged on a
// unique key that the clause does not name. This call fails too. The other databases
// return an error themselves.
//
// To find these rows, the plugin reads the keys back in the same transaction, with a
// SELECT by primary key. On Postgres and SQLite it does so only if a row may be missing.
// On MySQL it does so after each INSERT that can skip or merge rows whose keys were
// filled. GORM saves associations with such an INSERT.
//
// # Refused declarations and calls
//
// A [FieldError] is about a declaration. Examples are a key that is too narrow, that
// the database numbers or that Create does not write, and a foreign key that GORM would
// truncate. [Config.Models] checks declarations when the program starts.
//
// A [RowError] is about one call. Examples are a struct by value, a nil row, Omit of
// the key, and a wrong key in a map. A float64 from JSON has lost digits.
//
// [Check] is about tables. It compares models with the columns in the database, when the
// program starts or in CI.
//
// # How it works
//
// The plugin registers three callbacks around GORM's own:
//
//	snowkey:fill     first: reserves and sets the keys
//	                 gorm:begin_transaction, gorm:before_create (BeforeSave, BeforeCreate),
//	                 gorm:save_before_associations
//	snowkey:check    no row without a key, no INSERT without its column
//	                 gorm:create
//	snowkey:settle   reads keys back where a row may be missing
//	                 gorm:save_after_associations, …
//
// So a model's BeforeCreate sees the key, and may set another.
//
// # Limits
//
// The plugin does not see SQL that you write yourself with Exec or Raw, so generate the
// keys for such statements with the pool. To create rows from maps with
// db.Table("users").Create(m), list the table's model in [Config.Models]. Calling
// CreateInBatches with an array panics inside GORM before any plugin runs.
package gormid
