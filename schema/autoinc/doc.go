// Package autoinc migrates a live application from auto-increment keys to
// generated keys.
//
// Package schema/catalog reports the keys of a database. [NewPlan] plans the
// migration as SQL in phases, which a person reviews ([Plan.WriteText],
// [ReadPlan]). [Apply] applies one phase, and continues after a crash. [Verify]
// checks the result:
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
// Apply keeps its progress in a table of the database, with a row for each step.
// The rows carry the checksum of the plan. A step in a transaction is recorded in
// that transaction. Any other step is recorded before it runs and after it. If
// only the first record exists, a query of the plan finds out whether the step was
// applied. Before the first step of a phase, Apply plans that phase again. It
// refuses the phase if the result differs.
//
// The package requires the standard library only, and no driver. Names in texts
// are quoted as the database quotes them.
package autoinc
