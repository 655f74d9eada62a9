// Package autoinc moves a live application from auto-increment to generated keys.
//
// [NewPlan] inspects the database using package schema/catalog and returns a plan, which
// consists of SQL statements grouped into phases and should be reviewed by somebody before
// it's used (see [Plan.WriteText] and [ReadPlan]). [Apply] then runs one phase at a time. It
// can simply be called again after a crash. Finally, [Verify] checks the result:
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
// Apply tracks its progress in a database table, with one row per step under the plan's
// checksum. Steps running in a transaction are recorded in that same transaction. All other
// steps are recorded both before and after they run, and if only the first record is there
// after a crash, Apply runs a query from the plan to find out whether the step actually went
// through. Apply also plans each phase again before starting it. If the outcome is any
// different, it refuses to run the phase.
//
// There are no dependencies beyond the standard library, not even a driver. Names in
// messages are quoted in the database's own style.
package autoinc
