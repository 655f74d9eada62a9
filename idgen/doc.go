// Package idgen makes 64-bit, time-ordered ids of the snowflake family: time,
// worker number and sequence packed into 63 bits by a [Layout].
//
// A process opens one [Pool] with snowkey.Open or [NewPool] and passes it to
// [SetDefault]. A pool has one worker number, which all of its generators share. Most
// programs never need to call a generator themselves, since an ent mixin or a GORM
// plugin does so whenever a row is created.
//
// # The algorithm
//
// A [Generator] keeps a single integer, the counter of its last id, in which tick and
// sequence are packed together. Each call computes
//
//	next = max(last + 1, now<<sequenceBits | spread)
//
// and stores the result by compare-and-swap. Here, now is the clock's tick, and spread
// is an offset that differs from tick to tick (see [Config].NoSpread). Since next is
// always larger than last, no number repeats, no matter whether the clock runs, stands
// still or goes back. Once the sequence of a tick is full, last + 1 is simply the first
// number of the next tick.
//
// The fields of [Config] decide how far next may run ahead of the clock:
//
//	up to MaxAhead       the call returns at once
//	up to MaxWait more   the call takes its number and waits for the clock
//	beyond that          the call fails with *[ClockError] and takes no number
//	beyond MaxBehind     the generator also reports that it is [Down]
//
// A call that waits holds no lock. If its context ends first, the call returns an error
// and its number is never used, which leaves a gap in the ids. If the layout has a
// rollback field, you can set [Config.Rotate] to let a generator continue when calls
// would otherwise fail because the clock was set back.
//
// # Dense numbers
//
// Package segment issues dense numbers, such as 1, 2 and 3. Processes that use the same
// name share them through a row in a store.
//
// # Limits
//
// Ids are unique per layout and worker number. If you choose the worker number
// yourself, you must rule out these cases, because ids can repeat in each of them:
//
//   - Two processes have the same worker number at the same time.
//   - A process restarts after the clock was set back, since it does not remember which
//     ids it issued before.
//   - A process ends and starts again within MaxAhead plus one tick.
//
// Package worker lists what each source of worker numbers requires. A pool opened with
// snowkey.Open leases its worker number, which rules out all three cases.
package idgen
