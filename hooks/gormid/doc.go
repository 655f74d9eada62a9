// Package gormid is a GORM plugin that fills the primary keys of new rows with 64-bit,
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
// The plugin fills a primary key if its type is one of package pk or a pointer to one.
// Keys of type int64, uint64 and string, and named types of these, need the tag
// snowkey. Integers also need autoIncrement:false, because GORM otherwise makes them
// auto-increment:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// [Model] is gorm.Model with a key of type pk.ID. With [Config.FillIntegers] the plugin
// also fills integer keys that have no tag, such as the ID of gorm.Model. Without it,
// the database goes on numbering these keys, and the plugin logs a warning for each
// such model.
//
// Tag a pk.Text with size:20 and a pk.SortText with size:13. Otherwise GORM takes the
// 64 bits of the Go type for the length of the text, and alters the column in every
// AutoMigrate.
//
// A key that is zero, or a pointer to zero, is filled. Any other key is kept. The
// caller must set the parts of a composite key, and a primary key that is also the
// foreign key of a relation. If a row lacks such a key, the call fails. Tag a key that
// is a foreign key with snowkey:- if no relation declares it.
//
// # Guarantees
//
// After a call, either the key in memory is the key in the table, or the call has
// failed and its transaction was rolled back. This holds on every database for
//   - Create, Save, FirstOrCreate, CreateInBatches, associations and the generic API;
//   - structs, slices, arrays, maps and their associations;
//   - Select and Omit, hooks and SkipHooks, prepared statements and savepoints.
//
// Keys ascend in the order of the rows, because all keys for an INSERT are generated
// together. If that fails, Create returns an error that wraps the generator's error,
// and the rows are left unchanged. At that point no transaction has begun, unless GORM
// has started one around several batches, or around a row and its associations.
//
// If a call fails for any other reason, the rows keep their new keys. A retry therefore
// cannot insert duplicate rows, even if the first commit succeeded and only its reply
// was lost. A dry run fills keys too, because they are part of its SQL.
//
// # Conflicts
//
// If ON CONFLICT or INSERT IGNORE skips a row, the plugin clears the key that it has
// set. The keys therefore show which rows of a batch were skipped.
//
// If a row is merged into an existing row, it gets that row's key. Unless the INSERT
// returns the key, clause.OnConflict must name the unique columns, so that the plugin
// can look it up. This includes MySQL, although GORM ignores the columns there. If the
// key cannot be found, the call fails and is rolled back. With SkipDefaultTransaction
// there is no transaction to roll back. The call also fails if MySQL merges a row on a
// unique key that the clause does not name. The other databases return an error in this
// case.
//
// To find skipped and merged rows, the plugin reads the keys back in the same
// transaction, with a SELECT by primary key. On Postgres and SQLite it does so only if
// a row may be missing. On MySQL it does so after each INSERT that can skip or merge
// rows whose keys it has set, such as those with which GORM saves associations.
//
// # Refused declarations and calls
//
// A [FieldError] reports a fault in a declaration. For example, a key is too narrow,
// the database numbers it, Create does not write it, or GORM would truncate a foreign
// key. [Config.Models] lists models to check when the program starts.
//
// A [RowError] reports a fault in one call. Examples are a struct that is passed by
// value, a nil row, a key listed in Omit, and a wrong key in a map, such as a float64
// from JSON, which has lost digits.
//
// [Check] reports faults in tables. It compares models with the columns in the
// database, when the program starts or in CI.
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
// Because the keys are set first, a model's BeforeCreate sees the key, and may set
// another.
//
// # Limits
//
// The plugin does not see SQL that you write yourself with Exec or Raw, so generate the
// keys for such statements with the pool. To create rows from maps with
// db.Table("users").Create(m), list the table's model in [Config.Models]. Calling
// CreateInBatches with an array panics inside GORM before any plugin runs.
package gormid
