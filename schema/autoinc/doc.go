// Package autoinc migrates a live application from auto-increment keys to
// generated keys.
//
// Package schema/catalog reports a database's keys. From them, [NewPlan] makes a plan
// of SQL statements in phases, which a person reviews ([Plan.WriteText], [ReadPlan]).
// [Apply] applies one phase. After a crash, call it again to continue. [Verify] checks
// the result:
//
//	plan, err := autoinc.NewPlan(ctx, db, autoinc.PlanOptions{})
//	…
//	phase, err := autoinc.Apply(ctx, db, plan, autoinc.ApplyOptions{}) // for each phase
//	…
//	proof, err := autoinc.Verify(ctx, db, plan)
//
// # The phases
//
//	widen      keys and children get 64 bits
//	readers    a stop: deploy readers that accept 64 bits
//	fence      rows without a key are refused, where the first generated key would
//	           move the counter: MySQL, MariaDB, SQLite
//	switch-on  keys may be sent; a stop: deploy writers that send generated keys
//	drop       the counter is dropped
//	guard      new rows with a small key are refused
//
// # Why Apply can be repeated
//
// Apply keeps its progress in a table of the database. The table has a row for each
// step, with the plan's checksum. If a step runs in a transaction, Apply records it in
// that transaction. Otherwise Apply records the step before it runs and again after
// it. If only the first record exists, Apply uses a query from the plan to find out
// whether the step was applied. Before the first step of a phase, Apply plans that
// phase again, and refuses to run it if the result differs.
//
// The package requires the standard library only, and no driver. Names in texts
// are quoted as the database quotes them.
package autoinc
