// Package idgen makes 64-bit, time-ordered ids of the snowflake family: time, worker
// number and sequence, packed into 63 bits as described by a [Layout].
//
// A process opens one [Pool], with snowkey.Open or [NewPool], and passes it to
// [SetDefault]. The ent mixin, the GORM plugin and the other integrations then take ids
// from this pool when they create rows. To generate ids yourself, call [Pool.Next] or
// [Pool.NextN]. All generators of a pool share one worker number.
//
// # The algorithm
//
// A [Generator] keeps a single integer, the counter of its last id (tick and sequence
// packed together). Each call computes
//
//	next = max(last + 1, now<<sequenceBits | spread)
//
// and stores the result by compare-and-swap. Here, now is the clock's tick, and spread is
// an offset that changes from tick to tick (see [Config].NoSpread). Because next is always
// larger than last, no number repeats, even if the clock stops or is set back. Once a
// tick's sequence is full, last + 1 is the first number of the next tick.
//
// After a burst, or after the clock was set back, next can be ahead of the clock. The
// fields of [Config] limit by how much:
//
//	up to MaxAhead       the call returns at once
//	up to MaxWait more   the call takes its number and waits for the clock
//	beyond that          the call fails with *[ClockError] and takes no number
//	beyond MaxBehind     the generator also reports that it is [Down]
//
// Waiting calls don't hold a lock. If the context ends while a call is waiting, the call
// returns an error, and its number is never used.
//
// Use [Config.Rotate] if calls must not fail after the clock was set back. It requires a
// layout with a rollback field, and later ids will be smaller than earlier ones.
//
// # Dense numbers
//
// Package segment issues numbers like 1, 2 and 3, for example for support tickets.
// Processes share these numbers through a row in a store.
//
// # Limits
//
// Ids are unique per layout and worker number. If you can, open the pool with
// snowkey.Open, which leases a worker number that no other process can use.
//
// If you choose the worker number yourself, any of the following can cause duplicates:
//
//   - Two processes use the same worker number at the same time.
//   - A process is restarted after the clock was set back. It doesn't remember which ids
//     it has issued.
//   - A process is stopped, and started again within MaxAhead plus one tick.
//
// Package worker lists what you must ensure for each source of worker numbers.
package idgen
