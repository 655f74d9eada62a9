// Package idgen makes 64-bit, time-ordered ids of the snowflake family: time, worker
// number and sequence, packed into 63 bits as described by a [Layout].
//
// A process opens one [Pool], with snowkey.Open or [NewPool], and passes it to
// [SetDefault]. The pool has a single worker number that's shared by all of its
// generators. You usually won't call a generator directly, since the ent mixin or GORM
// plugin takes care of it when creating rows.
//
// # The algorithm
//
// A [Generator] keeps a single integer, the counter of its last id (tick and sequence
// packed together). Each call computes
//
//	next = max(last + 1, now<<sequenceBits | spread)
//
// and stores the result by compare-and-swap. Here, now is the clock's tick, and spread is
// an offset that changes from tick to tick (see [Config].NoSpread). Since next is always
// larger than last, no number repeats whether the clock is running, stuck or going
// backwards. Once a tick's sequence is full, last + 1 simply happens to be the first
// number of the next tick.
//
// How far next may run ahead of the clock is up to the fields of [Config]:
//
//	up to MaxAhead       the call returns at once
//	up to MaxWait more   the call takes its number and waits for the clock
//	beyond that          the call fails with *[ClockError] and takes no number
//	beyond MaxBehind     the generator also reports that it is [Down]
//
// Waiting calls don't hold a lock. If the context ends before the wait does, you'll get
// an error and a gap in the ids, as the call's number is never used. For layouts with a
// rollback field, there's also [Config.Rotate], which lets a generator continue when
// calls would otherwise fail because the clock was set back.
//
// # Dense numbers
//
// If you need numbers like 1, 2 and 3, see package segment. Processes using the same name
// share them through a row in a store.
//
// # Limits
//
// Ids are unique per layout and worker number. When choosing the worker number yourself,
// you must rule out all of the following, since any of them could cause duplicates:
//
//   - Two processes using the same worker number at the same time.
//   - Restarting a process after the clock was set back (it won't remember which ids it
//     issued before).
//   - Stopping a process and starting it again within MaxAhead plus one tick.
//
// Package worker lists the requirements for each source of worker numbers. Pools opened
// with snowkey.Open lease their worker number, which takes care of all three.
package idgen
