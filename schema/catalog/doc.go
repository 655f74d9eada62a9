// Package catalog inspects a live database: it finds auto-increment keys along with
// everything that refers to them, and checks whether your models match the columns. It's
// strictly read-only.
//
// [Inspect] reports every column that's numbered by the database. It needs nothing but
// the *sql.DB your application already has:
//
//	report, err := catalog.Inspect(ctx, db, catalog.Options{})
//	if err != nil {
//		return err
//	}
//	return report.WriteText(os.Stdout)
//
// [Compare] checks columns against model fields, on startup or in CI. You usually won't
// call it directly: gormid.Check, entid.Check and bunid.Check are built on it, and know how
// to read your models. For planning and applying a migration to generated keys, there's
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
// Numbers can also come from a trigger, a function, or your own program. Database catalogs
// don't show this, so you won't see such columns in the report.
//
// # Which columns refer to a key
//
// Declared foreign keys are always listed. That includes self-references, the columns of
// composite foreign keys, and foreign keys pointing to a column that is itself a foreign
// key to the key. Columns that just look like they hold a key (without a foreign key) are
// reported as [LikelyChild] findings.
//
// Postgres won't let you alter a column's type while views or certain other objects use it.
// The report lists these too, as well as views using such a view.
//
// # Privileges
//
// Any Postgres role can read the catalog, although reading a counter takes SELECT on its
// sequence. MySQL and MariaDB are stricter and hide objects an account has no privileges
// for; grant SELECT and TRIGGER on *.* if you want to see everything. The report has an
// [Unseen] finding if some objects might be hidden.
//
// # Why it has its own parser
//
// Atlas (ariga.io/atlas/sql) has inspectors for all of these databases. Using them would
// make Atlas and its dependencies a requirement for every program that calls Check, however,
// and they don't read counters. This package only needs the standard library, and no driver.
//
// A full parser for each dialect would be larger than the whole package. Luckily, the
// definitions come from a server that has already accepted them, so all we need is a
// tokenizer and a parser for column types. You'll find both in internal/ddl, which the
// integrations use as well.
package catalog
