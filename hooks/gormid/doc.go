// Package gormid is a GORM plugin that generates primary keys for new rows: 64-bit,
// time-ordered numbers that your program knows before it sends the INSERT.
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
// Keys come from [idgen.Default] unless you set [Config.Source].
//
// # Which keys are filled
//
// Primary keys with a type from package pk (or a pointer to one) are filled automatically.
// You can also keep using int64, uint64, string, or a named type based on them, but these
// need the snowkey tag. Integer keys need autoIncrement:false as well, otherwise GORM will
// turn them into auto-increment columns:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// [Model] is a drop-in replacement for gorm.Model whose key is a pk.ID. For models you can't
// change there's [Config.FillIntegers], which makes the plugin fill untagged integer keys
// too, including the ID in gorm.Model. Without that option these keys are left to the
// database, and the plugin logs a warning once per model.
//
// Always give pk.Text a size:20 tag and pk.SortText a size:13 tag. GORM otherwise takes the
// Go type's 64 bits for the text length and alters the column on every AutoMigrate.
//
// A key that's already set is kept; only zero keys and pointers to zero are filled. Some
// keys can't be generated at all, namely the parts of a composite key and a primary key
// that's also a relation's foreign key. You have to set those yourself, and the call fails
// if you forget. The plugin only recognizes foreign keys that a relation declares, so tag
// any other foreign key with snowkey:-.
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
// The keys for an INSERT are generated in one go and are in row order. Create returns an
// error wrapping the generator's if that fails, and leaves your rows as they were. This
// usually happens before any transaction has started, although GORM may already have opened
// one if it's inserting several batches or a row with associations.
//
// After any other failure, the rows keep the keys they've just been given, which makes it
// safe to retry: even if the commit actually went through and only the reply got lost, you
// won't end up with the same rows twice. Dry runs fill keys too, since the keys are part of
// the SQL.
//
// # Conflicts
//
// When ON CONFLICT or INSERT IGNORE skips a row, the plugin resets the key it generated for
// that row to zero. This is how you can tell which rows of a batch were skipped.
//
// Rows that GORM saves as associations are the exception, because other rows in the same
// call refer to them. These get the existing row's key, which the plugin looks up by the
// row's unique values. For example, several posts can be created with tags that are already
// in the table.
//
// A row that's merged into an existing one gets the existing key. If the INSERT doesn't
// return it, the plugin needs to look it up by the unique columns, so always name them in
// clause.OnConflict (even on MySQL, where GORM itself ignores them). The call fails and is
// rolled back when the key can't be found. With SkipDefaultTransaction, there's no
// transaction to roll back.
//
// MySQL needs some extra care. It merges on any unique key, including ones the clause
// doesn't name, where other databases would return an error; the plugin fails such a call.
// It also does so if a row conflicts with two existing rows at once, since there's no
// telling which one MySQL has updated.
//
// Skipped and merged rows are found by reading the keys back, using a SELECT by primary key
// in the same transaction. Postgres and SQLite only need this query if a row might be
// missing. MySQL needs it after every INSERT that might have skipped or merged rows with new
// keys, and that includes the ones GORM uses for saving associations.
//
// # Refused declarations and calls
//
// A [FieldError] means that a model is declared in a way that can't work: the key is too
// narrow, say, or the database numbers it, Create never writes it, or a foreign key would be
// truncated by GORM. List your models in [Config.Models] to get these errors on startup
// rather than with the first row.
//
// A [RowError] is about a single call. Typical causes are structs passed by value, nil rows,
// Omit with the key, and maps with a key that can't be right (e.g. a float64 from JSON, which
// has already lost digits).
//
// [Check] goes one step further and compares your models with the columns in the database.
// Run it on startup or in CI.
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
// As the keys are set first, your BeforeCreate hooks can already use them, or even replace
// them.
//
// # Limits
//
// SQL you run through Exec or Raw bypasses the plugin, so draw the keys for it from the pool
// yourself. Creating rows from maps with db.Table("users").Create(m) only works if the
// table's model is listed in [Config.Models]. And avoid CreateInBatches with an array: GORM
// panics before any plugin gets to run.
package gormid
