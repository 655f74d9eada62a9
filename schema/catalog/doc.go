// Package catalog inspects a live database. It finds the auto-increment keys and
// everything that refers to them, and checks whether the columns match a program's
// models. It only reads, and never changes anything.
//
// [Inspect] uses the application's own *sql.DB to report every column whose numbers
// the database assigns:
//
//	report, err := catalog.Inspect(ctx, db, catalog.Options{})
//	if err != nil {
//		return err
//	}
//	return report.WriteText(os.Stdout)
//
// [Compare] compares columns with the fields of models, both at start-up and in CI.
// Most programs should call gormid.Check, entid.Check or bunid.Check instead, which
// read the models themselves. To plan and apply a migration to generated keys, use
// package schema/autoinc.
//
// # Which columns are keys
//
//   - PostgreSQL 12 and later: identity columns, and columns with a default from a
//     sequence, such as serial and bigserial. If a default names its sequence as text,
//     the key is found, but the sequence is not.
//   - MySQL 8.0 and MariaDB 10.6 and later: AUTO_INCREMENT columns, and on MariaDB also
//     columns with a default from a sequence.
//   - SQLite 3.37 and later: AUTOINCREMENT, and any other INTEGER PRIMARY KEY that is
//     an alias of the rowid, since SQLite numbers its rows too. This excludes tables
//     WITHOUT ROWID.
//
// Note that the catalog of a database doesn't show columns whose numbers come from a
// trigger, a function or the program, so the report can't show them either.
//
// # Which columns refer to a key
//
// The report lists declared foreign keys. They include self-references, columns of
// composite foreign keys, and foreign keys to a column that is itself a foreign key to
// the key. Columns that may hold a key without a foreign key are reported as findings
// of the kind [LikelyChild].
//
// Postgres also records which views and other objects use a column, and doesn't let us
// alter its type meanwhile. They are listed too, along with the views that use such a view.
//
// # Privileges
//
// On Postgres any role may read the catalog, although reading a counter requires SELECT
// on its sequence. MySQL and MariaDB only show an account the objects that it has
// privileges for. To see everything, the account needs SELECT and TRIGGER on *.*. If some objects may be hidden, the report says so in a finding of the kind
// [Unseen].
//
// # Why it has its own parser
//
// Using the inspectors of Atlas (ariga.io/atlas/sql) would make every program that
// calls Check depend on Atlas, and more. This package only needs the standard library
// and no driver. Atlas also doesn't read counters. A full parser for each dialect would
// be larger than this package. Fortunately we don't need one: the definitions come from
// a server that has already accepted them, so a tokenizer and a parser of column types
// will do. Both are in internal/ddl, which all integrations share.
package catalog
