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
// If you use int64, uint64, string or a named type of these instead, add the tag snowkey.
// Integers also need autoIncrement:false, or else GORM would make them auto-increment:
//
//	ID     pk.ID                                                  // BIGINT
//	ID     pk.Of[User]                                            // BIGINT, typed
//	ID     pk.SortText `gorm:"size:13"`                           // CHAR(13)
//	Number int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
//	Code   string `gorm:"primaryKey;size:20;snowkey"`             // decimal
//	ID     pk.ID  `gorm:"snowkey:orders"`                         // from the pool's generator "orders"
//	UserID pk.ID  `gorm:"primaryKey;snowkey:-"`                   // the caller sets it
//
// [Model] is like gorm.Model, but its key is a pk.ID. If you can't change your models, set
// [Config.FillIntegers]. The plugin then fills integer keys without a tag as well, such as
// the ID of gorm.Model. Otherwise it leaves these keys to the database, and logs a warning
// for each of these models.
//
// Make sure to tag a pk.Text with size:20 and a pk.SortText with size:13. Without a size,
// GORM would mistake the 64 bits of the Go type for the length of the text, and alter the
// column in every AutoMigrate.
//
// The plugin fills a key if it's zero or a pointer to zero, and keeps it otherwise. There
// are keys that only the caller can know: the parts of a composite key, and a primary key
// that is also the foreign key of a relation. If a row doesn't have such a key, the call
// fails. If a key is a foreign key but no relation declares it, tag it with snowkey:-.
//
// # Guarantees
//
// After a call, the key in memory is the key in the table. Otherwise the call has failed,
// and its transaction was rolled back. You can rely on this with every database, for
//   - Create, Save, FirstOrCreate, CreateInBatches, associations and the generic API;
//   - structs, slices, arrays, maps and their associations;
//   - Select and Omit, hooks and SkipHooks, prepared statements and savepoints.
//
// Since all keys for an INSERT are generated together, they ascend in the order of the
// rows. If the generator fails, Create returns an error that wraps the generator's, and
// leaves the rows unchanged. Usually no transaction has begun at that point. However, GORM
// may have started one around several batches, or around a row and its associations.
//
// If a call fails for any other reason, the rows keep their new keys. This means that you
// can safely retry it: even if the first commit succeeded and only its reply was lost, you
// won't get duplicate rows. A dry run fills keys too, because they're part of its SQL.
//
// # Conflicts
//
// If ON CONFLICT or INSERT IGNORE skips a row, the plugin clears the key that it set
// before. From the keys you can therefore tell which rows of a batch were skipped.
//
// There is one exception: a row that GORM saves as an association, because other rows of
// the call refer to it, gets the key of the row in the table. The plugin finds that row by
// its unique values. This is how a post can name its tags.
//
// If a row is merged into an existing row, it gets that row's key. When the INSERT doesn't
// return the key, the plugin has to look it up, and that's why clause.OnConflict must name
// the unique columns. You need to do this even on MySQL, where GORM itself ignores them. If
// the plugin can't find the key, the call fails and is rolled back. (With
// SkipDefaultTransaction there's no transaction, so nothing can be rolled back.) MySQL may
// also merge a row on a unique key that the clause doesn't name. The call then fails as
// well, whereas other databases return an error themselves. It also fails if a row has the
// unique values of two rows, because it isn't known which one MySQL has changed.
//
// To find skipped and merged rows, the plugin reads the keys back in the same transaction,
// using a SELECT by primary key. On Postgres and SQLite this is only necessary if a row
// may be missing. On MySQL the plugin has to do it after each INSERT that might have
// skipped or merged rows with new keys. That includes the INSERTs with which GORM saves
// associations.
//
// # Refused declarations and calls
//
// You get a [FieldError] if something is wrong with a declaration. For example, a key may
// be too narrow, it may be numbered by the database or never written by Create, or GORM
// might truncate a foreign key. To find out as soon as the program starts, list your models
// in [Config.Models].
//
// You get a [RowError] if something is wrong with a single call. You may have passed a
// struct by value, a nil row, a key in Omit, or a map with a key that can't be right, such
// as a float64 from JSON, which has lost digits.
//
// To compare your models with the columns in the database, call [Check] when the program
// starts, or in CI.
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
// Since the keys are set first, a model's BeforeCreate can already see the key, and may
// also replace it.
//
// # Limits
//
// The plugin can't see SQL that you write yourself with Exec or Raw, so you need to draw the
// keys for such statements from the pool. To create rows from maps with
// db.Table("users").Create(m), list the table's model in [Config.Models]. Avoid calling
// CreateInBatches with an array, because GORM panics before any plugin runs.
package gormid
