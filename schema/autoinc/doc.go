// Package autoinc moves a database from auto-increment to generated keys while its
// applications are running.
//
// [NewPlan] inspects the database with package schema/catalog and returns a plan: SQL
// statements, grouped into phases. Write the plan to a file with [Plan.WriteText] so that
// somebody can review it, and read it with [ReadPlan]. [Apply] then executes one phase each
// time you call it. Finally, [Verify] checks the result:
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
// After a crash, you can call Apply again with the same plan. Apply records its progress in
// a database table, with one row for each step. If a step runs in a transaction, its record
// is part of the transaction. All other steps are recorded before and after they run. If the
// second record is missing after a crash, Apply executes a query from the plan to find out
// whether the step was completed.
//
// Before Apply starts a phase, it plans the phase again. If the result differs from the
// plan, because the schema has changed, Apply returns an error that wraps [ErrPlan].
//
// This package only depends on the standard library. It quotes names in messages like the
// database does.
package autoinc
