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
// Keys come from [idgen.Default], or from [Config.Source] if it's set.
//
// # Which keys are filled
//
// Primary keys with a type from package pk (or a pointer to one) are filled automatically.
// Models can also keep using int64, uint64, string, or a named type based on one of these by
// adding the snowkey tag. For integers, autoIncrement:false is needed too since GORM would
// otherwise make them auto-increment:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// [Model] is a drop-in replacement for gorm.Model with a pk.ID as its key. If a model can't
// be changed, [Config.FillIntegers] can be used to fill untagged integer keys too, including
// the ID in gorm.Model. By default these keys are left to the database, with a warning
// logged for each model.
//
// A pk.Text should always be tagged with size:20 and a pk.SortText with size:13. Without a
// size, GORM takes the 64 bits of the underlying Go type for the length of the text and will
// alter the column on every AutoMigrate.
//
// Only zero keys and pointers to zero are filled. The parts of a composite key must be set
// by the caller because there's no way to generate them. This also applies to a primary key
// that doubles as a relation's foreign key. If one of these is missing, the call fails. A
// foreign key that isn't declared in a relation can't be detected this way and should be
// tagged with snowkey:-.
//
// # Guarantees
//
// Once a call returns without an error, the key in memory is the key in the table. If that
// can't be achieved, the call fails and its transaction is rolled back. This is true for
// every database, and for
//   - Create, Save, FirstOrCreate, CreateInBatches, associations and the generic API;
//   - structs, slices, arrays, maps and their associations;
//   - Select and Omit, hooks and SkipHooks, prepared statements and savepoints.
//
// All keys for an INSERT are generated together, in row order. If that fails, Create returns
// an error wrapping the generator's and leaves the rows unchanged. A transaction usually
// won't have started yet at this point, although GORM may already have opened one when it's
// inserting several batches or a row with associations.
//
// After any other failure, the rows keep their new keys. This makes retrying safe: even if
// the first commit actually went through and only the reply was lost, the same rows won't be
// inserted again. Keys are filled in a dry run too, since they're part of its SQL.
//
// # Conflicts
//
// When ON CONFLICT or INSERT IGNORE skips a row, the plugin resets the key it generated for
// that row to zero. This can be used to tell which rows of a batch were skipped.
//
// Rows saved as associations are handled differently, as other rows in the same call refer
// to them. Instead of being reset, they get the key of the existing row, which the plugin
// looks up by its unique values. This allows creating several posts with tags that are
// already in the table, for example.
//
// When a row is merged into an existing row, it gets that row's key. The plugin may have to
// look it up by the unique columns if the INSERT doesn't return it, which is why these
// should always be named in clause.OnConflict (even on MySQL, where GORM itself ignores
// them). The call fails and is rolled back if the key can't be found, although with
// SkipDefaultTransaction there may be no transaction to roll back.
//
// MySQL also merges rows on unique keys that aren't named in the clause, where other
// databases would return an error. The plugin will detect this and fail the call. It does
// the same for a row that conflicts with two existing rows at once, since it has no way of
// knowing which of the two MySQL updated.
//
// To find skipped and merged rows, the plugin reads keys back using a SELECT by primary key
// in the same transaction. On Postgres and SQLite this is only necessary if a row might be
// missing. On MySQL it's required after every INSERT that might have skipped or merged rows
// with new keys, including those GORM issues for saving associations.
//
// # Refused declarations and calls
//
// A [FieldError] is returned for a model whose declaration can't work. For example, the key
// may be too narrow or numbered by the database, Create may never write it, or a foreign key
// might get truncated by GORM. These errors will already be reported on startup for models
// listed in [Config.Models], rather than when the first row is created.
//
// A [RowError] is returned when there's a problem with a specific call, like a struct passed
// by value, a nil row, Omit with the key, or a map containing a key that can't be right
// (e.g. a float64 from JSON, which has already lost digits).
//
// [Check] goes one step further by comparing models with the columns in the database. It
// should be run on startup or in CI.
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
// Because keys are set first, a model's BeforeCreate can use its key or even replace it.
//
// # Limits
//
// SQL that's run with Exec or Raw bypasses the plugin. Keys for such statements should be
// drawn from the pool directly. To create rows from maps using db.Table("users").Create(m),
// the table's model must be listed in [Config.Models]. CreateInBatches shouldn't be used
// with arrays (GORM panics before any plugin gets a chance to run).
package gormid
