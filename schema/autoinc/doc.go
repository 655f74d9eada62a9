// Package autoinc moves a live application from auto-increment to generated keys.
//
// Start with [NewPlan], which inspects the database (using package schema/catalog) and
// returns a plan: SQL statements grouped into phases. Have somebody review it; see
// [Plan.WriteText] and [ReadPlan]. Then [Apply] runs one phase at a time, and can simply be
// called again after a crash. Once you're done, [Verify] checks the result:
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
// Apply keeps track of its progress in a table in your database, with one row per step under
// the plan's checksum. Steps running in a transaction are recorded in that same transaction.
// Others are recorded twice, before and after they run. If Apply finds only the first record
// after a crash, it has to find out whether the step actually went through, and the plan
// contains a query for just that purpose. Apply also plans a phase again before its first
// step, and refuses to run it if the outcome is any different.
//
// Nothing but the standard library is needed, not even a driver. Names in messages are quoted
// in the database's own style.
package autoinc
