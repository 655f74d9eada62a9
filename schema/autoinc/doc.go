// Package autoinc migrates a live application from auto-increment keys to generated
// keys.
//
// Package schema/catalog reports the keys of a database, and [NewPlan] turns the report
// into a plan: SQL statements, grouped into phases, which somebody should review
// ([Plan.WriteText], [ReadPlan]). [Apply] applies one phase at a time. If it crashes,
// just call it again to continue. [Verify] checks the result:
//
//	plan, err := autoinc.NewPlan(ctx, db, autoinc.PlanOptions{})
//	…
//	phase, err := autoinc.Apply(ctx, db, plan, autoinc.ApplyOptions{}) // for each phase
//	…
//	proof, err := autoinc.Verify(ctx, db, plan)
//
// # The phases
//
//	widen      makes keys and children 64 bits wide
//	readers    changes nothing: deploy readers that accept 64 bits
//	fence      rejects rows without a key; only on MySQL, MariaDB and SQLite,
//	           where the first generated key would move the counter
//	switch-on  allows keys to be sent: deploy writers that send generated keys
//	drop       drops the counter
//	guard      rejects new rows with a small key
//
// # Why Apply can be repeated
//
// Apply records its progress in a table of the database, which has a row for each step
// under the plan's checksum. A step that runs in a transaction is recorded in the same
// transaction. Any other step is recorded before it runs and again afterwards. If a
// crash leaves only the first record, Apply uses a query from the plan to find out
// whether the step was applied. Before the first step of a phase, Apply plans the phase
// again and refuses to run it if the result differs.
//
// The package has no dependencies beyond the standard library, not even a driver. Names
// in its messages are quoted the way the database quotes them.
package autoinc
