// Package autoinc helps a live application off auto-increment keys.
//
// [Inspect] reads the catalog of a database, through the application's own
// *sql.DB, and reports every column that numbers its rows by itself, everything
// that holds or uses its numbers, and what stands in the way of generated keys:
//
//	report, err := autoinc.Inspect(ctx, db, autoinc.Options{})
//	if err != nil {
//		return err
//	}
//	return report.WriteText(os.Stdout)
//
// It changes nothing. [NewPlan] plans the way, as SQL in phases that a person
// reviews ([Plan.WriteText], [ReadPlan]); [Apply] applies a phase, and goes on where
// it stopped, whatever stopped it; [Verify] proves the outcome:
//
//	plan, err := autoinc.NewPlan(ctx, db, autoinc.PlanOptions{})
//	…
//	phase, err := autoinc.Apply(ctx, db, plan, autoinc.ApplyOptions{}) // once for each phase
//	…
//	proof, err := autoinc.Verify(ctx, db, plan)
//
// At start-up and in CI [Compare] holds the columns against what the models of an
// ORM expect; gormid.Check, entid.Check and bunid.Check call it with models.
//
// The package imports no driver.
//
// # The phases
//
//	widen      keys and children get 64 bits
//	readers    a stop: readers of 64 bits are to be shipped
//	fence      rows without a key are refused, where the first generated key would
//	           move the counter: MySQL, MariaDB, SQLite
//	switch-on  keys may be sent; a stop: writers are to send generated ones
//	drop       the counter goes
//	guard      new rows with a small key are refused
//
// # How Apply is safe to repeat
//
// Its progress is a table in the database, with a row for each step under the sum
// of the plan. A step in a transaction is recorded in that transaction. A step in
// none is recorded before it is run, and again afterwards: what was left between
// the two is looked up in the catalog, with a query that the plan has for it.
// A phase is planned once more before its first step, and refused if it would be
// another now.
//
// # What counts as a key
//
//   - PostgreSQL 12 and later: identity columns, and columns whose default draws
//     from a sequence: serial, bigserial, smallserial, or any expression. A default
//     that names its sequence as text is found, its sequence is not.
//   - MySQL 8.0 and MariaDB 10.6 and later: AUTO_INCREMENT columns, and on MariaDB
//     also columns whose default draws from a sequence.
//   - SQLite 3.37 and later: AUTOINCREMENT, and every other INTEGER PRIMARY KEY
//     that is the rowid by another name, because it counts as well. A table
//     WITHOUT ROWID counts nothing.
//
// A number that a trigger or a function assigns is not visible in a catalog, nor
// is a program that calls nextval by itself.
//
// # What holds and uses it
//
// Foreign keys are those that are declared: self-references, single columns of
// composite ones, and those that reference a column which is itself a foreign
// key to the key. A column that only looks like one is not guessed.
//
// Views come from Postgres' own bookkeeping. MySQL and SQLite keep none by column:
// there a view is listed if it reads the table and names such a column, or all of
// them. A view of a listed view is listed too.
//
// # What it needs
//
// On Postgres any role may read the catalog; the counter of a sequence needs
// SELECT on it. MySQL and MariaDB show an account what it was granted, and nothing
// of the rest: SELECT, TRIGGER and SHOW VIEW on *.* show all. Whatever could not
// be seen is itself a finding, [Unseen].
//
// Names in texts are quoted as the database quotes them.
package autoinc
