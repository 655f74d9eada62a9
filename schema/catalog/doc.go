// Package catalog inspects a live database. It finds the auto-increment keys and
// everything that refers to them, and checks whether the columns match a program's
// models. It changes nothing.
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
// [Compare] compares columns with the fields of models, at start-up and in CI.
// Most programs call gormid.Check, entid.Check or bunid.Check, which read the
// models. Package schema/autoinc plans and applies the migration to generated keys.
//
// # What counts as a key
//
//   - PostgreSQL 12 and later: identity columns, and columns with a default from a
//     sequence, such as serial and bigserial. If a default names its sequence as
//     text, the key is found and the sequence is not.
//   - MySQL 8.0 and MariaDB 10.6 and later: AUTO_INCREMENT columns. On MariaDB
//     also columns with a default from a sequence.
//   - SQLite 3.37 and later: AUTOINCREMENT, and every other INTEGER PRIMARY KEY
//     that is an alias of the rowid, because it counts as well. A table WITHOUT
//     ROWID does not count.
//
// If a trigger, a function or the program assigns a column's numbers, the database's
// catalog does not show it, so the report does not either.
//
// # What refers to a key
//
// The report lists declared foreign keys: self-references, columns of composite
// foreign keys, and foreign keys to a column that is itself a foreign key to the
// key. Columns that may hold a key without a foreign key are findings, [LikelyChild].
//
// Postgres records which columns a view uses. MySQL and SQLite do not, so there a view
// is listed if its definition contains the table and either the column or a star. A
// view that uses a listed view is listed too.
//
// # Privileges
//
// On Postgres any role may read the catalog. Reading a counter needs SELECT on its
// sequence. MySQL and MariaDB show an account only the objects that it has
// privileges for; with SELECT, TRIGGER and SHOW VIEW on *.* it sees everything. What
// the account may not see is reported as a finding, [Unseen].
//
// # Why it has its own parser
//
// The package requires the standard library only, and no driver. The inspectors of
// Atlas (ariga.io/atlas/sql) would add Atlas, and more, to every program that calls
// Check. They also do not read counters, and a parser for each dialect is larger
// than this package. Because the definitions come from a server that has accepted
// them, a tokenizer and a parser of column types are enough. Both are in internal/ddl,
// and all integrations use them.
package catalog
