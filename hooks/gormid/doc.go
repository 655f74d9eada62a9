// Package gormid is a GORM plugin that fills the primary keys of new rows with
// 64-bit, time-ordered numbers.
//
//	type User struct {
//		ID   pk.ID
//		Name string
//	}
//
//	db.Use(gormid.New(gormid.Config{})) // once, before the first row
//	db.AutoMigrate(&User{})             // id bigint PRIMARY KEY, numbered by nobody
//	db.Create(&User{Name: "Ada"})       // fills ID
//
// The keys come from [idgen.Default] or from [Config.Source].
//
// # Which keys are filled
//
// A primary key opts in by its type, any of package pk or a pointer to one, or
// by its tag. A tag is what int64, uint64 and string keys need, named types and
// pointers included. Integers also need GORM's own autoIncrement:false, or GORM
// has the database number them:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// Without its size, the column of a pk.Text (20) or pk.SortText (13) is altered by
// every AutoMigrate, because GORM takes the Go type's 64 bits for a length.
//
// A key that is zero, or a pointer to zero, is filled. Any other is kept. A key
// that is part of a composite key, or that a relation makes a foreign key, is
// never filled, and a row is refused that would be inserted without it. Mark a
// foreign key that no relation declares with snowkey:-.
//
// # What holds
//
// After a call of Create, Save, FirstOrCreate, CreateInBatches, an association
// or the generic API, the key in memory is the key in the table, or the call has
// failed and its transaction is rolled back. This holds for structs, slices,
// arrays, maps and what belongs to them; with Select and Omit, hooks or
// SkipHooks, prepared statements and savepoints; on every database.
//
// Keys ascend in the order of the rows, and one INSERT draws all of its keys in
// one step. Where none can be had, the error wraps the generator's, the rows are
// as they were, and no transaction has begun, except the one that GORM puts
// around several batches or around a row and its associations.
//
// When a call fails for another reason the rows keep their new keys, so that
// repeating it cannot insert them twice, even if a commit got lost on its way
// back. A dry run fills keys as well: they are part of its SQL.
//
// # Conflicts
//
// A row that an ON CONFLICT clause or INSERT IGNORE left out has no key
// afterwards; this also tells which rows of a batch those are. A row that was
// merged into another has that row's key, provided that clause.OnConflict names
// the unique columns, also on MySQL, where GORM ignores them. If the key of the
// other row cannot be found the call fails, and is rolled back unless
// SkipDefaultTransaction has left nothing to roll back. On MySQL this includes
// rows that are merged on another unique key than the clause says, where the
// other databases fail by themselves.
//
// For that the keys are read back, in the same transaction, with a SELECT by
// primary key: on Postgres and SQLite only where a row may be missing, on MySQL
// after each INSERT that may leave out or merge rows whose keys were filled.
// GORM's saving of associations is of that kind.
//
// # What is refused
//
// A [FieldError] is about a declaration: a key or column that is too narrow, that
// the database numbers or that Create does not write, and foreign keys of another
// kind, which GORM would silently cut short or garble. [Config.Models] brings
// these errors forward to the start of the program. A [RowError] is about one
// call: a struct by value, a nil row, a key of the wrong kind in a map (a float64
// from JSON has lost digits), Omit of the key.
//
// [Check] is about tables: it holds models against the columns that the database
// really has, when the program starts or in CI.
//
// # How it works
//
// Three callbacks surround GORM's own; that of the key is none of the model's
// hooks:
//
//	snowkey:fill     first of all: reserves and sets the keys
//	                 gorm:begin_transaction, gorm:before_create (BeforeSave, BeforeCreate),
//	                 gorm:save_before_associations
//	snowkey:check    no row without a key, no INSERT without its column
//	                 gorm:create
//	snowkey:settle   reads keys back where a row may be missing
//	                 gorm:save_after_associations, …
//
// So a model's BeforeCreate sees the key, and may set another.
//
// # What it does not do
//
// It does not see SQL that is written by hand, with Exec or Raw: take keys from
// the pool there. For db.Table("users").Create(map) it must know the model of the
// table from [Config.Models]. CreateInBatches of an array panics inside GORM
// before any plugin is asked.
package gormid
