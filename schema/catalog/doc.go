// Package catalog inspects a live database. It's strictly read-only, and is used to find
// auto-increment keys along with everything that refers to them, or to check whether a
// program's models match the actual columns.
//
// [Inspect] reports every column that's numbered by the database, using the application's
// existing *sql.DB:
//
//	report, err := catalog.Inspect(ctx, db, catalog.Options{})
//	if err != nil {
//		return err
//	}
//	return report.WriteText(os.Stdout)
//
// [Compare] checks columns against model fields, on startup or in CI. It's rarely called
// directly because gormid.Check, entid.Check and bunid.Check are built on it and know how to
// read their models. To plan and apply a migration to generated keys, see package
// schema/autoinc.
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
// Numbers coming from a trigger, a function, or the program itself don't show up in a
// database's catalog. The report can't include those.
//
// # Which columns refer to a key
//
// Declared foreign keys are always listed. That includes self-references, the columns of
// composite foreign keys, and foreign keys pointing to a column that is itself a foreign key
// to the key. A column that appears to hold a key but has no foreign key is reported as a
// [LikelyChild] finding.
//
// Postgres doesn't allow altering a column's type while it's used by views or certain other
// objects. These are listed too, as well as any views built on such a view.
//
// # Privileges
//
// Any Postgres role can read the catalog, although SELECT on a sequence is required for
// reading its counter. On MySQL and MariaDB, objects are hidden from accounts without
// privileges for them, meaning that SELECT and TRIGGER on *.* are required to see
// everything. The report will have an [Unseen] finding if some objects might be hidden.
//
// # Why it has its own parser
//
// Atlas (ariga.io/atlas/sql) already has inspectors for these databases. They don't read
// counters though, and would make Atlas and its dependencies a requirement for every program
// that calls Check. This package only needs the standard library (not even a driver).
//
// A full parser for each dialect would be larger than the whole package. Luckily,
// definitions always come from a server that has already accepted them, so a tokenizer and a
// parser for column types will do. They're in internal/ddl, which is also used by the
// integrations.
package catalog
