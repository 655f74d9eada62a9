// Package catalog inspects a database without changing anything. Use it to find
// auto-increment keys and all columns that refer to them, or to check that a program's
// models match the actual columns.
//
// [Inspect] reports all columns that the database numbers. It can use the application's
// *sql.DB:
//
//	report, err := catalog.Inspect(ctx, db, catalog.Options{})
//	if err != nil {
//		return err
//	}
//	return report.WriteText(os.Stdout)
//
// [Compare] compares fields of models with the columns in the database, on startup or in CI.
// With an ORM, call gormid.Check, entid.Check or bunid.Check instead. These call Compare
// with the fields of their models.
//
// To plan and apply a migration to generated keys, use package schema/autoinc.
//
// # Which columns are keys
//
//   - PostgreSQL 12 and later: identity columns, and columns with a default from a
//     sequence, such as serial and bigserial. If a default names its sequence as text,
//     Inspect finds the key but not the sequence.
//   - MySQL 8.0 and MariaDB 10.6 and later: AUTO_INCREMENT columns, and on MariaDB also
//     columns with a default from a sequence.
//   - SQLite 3.37 and later: AUTOINCREMENT, and any other INTEGER PRIMARY KEY that is an
//     alias of the rowid. This excludes tables WITHOUT ROWID.
//
// Inspect can't find keys whose numbers come from a trigger, a function, or the program
// itself, because a database's catalog doesn't show them.
//
// # Which columns refer to a key
//
// The report lists all declared foreign keys, including self-references, the columns of
// composite foreign keys, and foreign keys that refer to a key through another foreign key.
// If the name of a narrow column suggests that it holds a key without a foreign key, the
// report has a [LikelyChild] finding for the column.
//
// On Postgres, the report also lists the views and other objects that use a key's column,
// and the views built on these views. Postgres refuses to change the column's type while
// such objects exist.
//
// # Privileges
//
// On Postgres, any role can read the catalog. Reading the counter of a sequence requires
// SELECT on the sequence.
//
// On MySQL and MariaDB, the server hides objects for which an account has no privileges. To
// see all objects, Inspect requires SELECT and TRIGGER on *.*. If some objects might be
// hidden, the report has an [Unseen] finding.
package catalog
