// Package idgen makes 64-bit, time-ordered ids of the snowflake family: time,
// worker number and sequence packed into 63 bits by a [Layout].
//
// A process opens one [Pool] with snowkey.Open or [NewPool] and passes it to
// [SetDefault]. A pool has one worker number, and all of its generators use it.
// Most programs never call a generator themselves, because an ent mixin or a GORM
// plugin does so when a row is created.
//
// # The algorithm
//
// A [Generator] keeps one integer, the counter of its last id: tick and sequence
// packed together. A call computes
//
//	next = max(last + 1, now<<sequenceBits | spread)
//
// and stores it by compare-and-swap. Here, now is the clock's tick, and spread is an
// offset that differs from tick to tick (see [Config].NoSpread). Because next is always
// larger than last, no number repeats, whether the clock runs, stands still or goes
// back. When the sequence of a tick is full, last + 1 is the first number of the next
// tick.
//
// The fields of [Config] decide how far next may run ahead of the clock:
//
//	up to MaxAhead       the call returns at once
//	up to MaxWait more   the call takes its number and waits for the clock
//	beyond that          the call fails with *[ClockError] and takes no number
//	beyond MaxBehind     the generator also reports that it is [Down]
//
// A call that waits holds no lock, and it returns an error when its context ends. Its
// number is then never used, which leaves a gap in the ids. If the layout has a rollback
// field, [Config.Rotate] lets a generator continue when calls would otherwise fail
// because the clock was set back.
//
// # Ids without order
//
// Every call of a generator reads the clock and updates the same word of memory. An
// [Unordered] takes blocks of numbers from a generator, so that goroutines can use
// different blocks at the same time. On many cores this is much faster. The ids are
// just as unique, but they are not in order.
//
// # Dense numbers
//
// Package segment issues dense numbers, such as 1, 2 and 3. Processes that use the same
// name share them through a row in a store.
//
// # Limits
//
// Ids are unique per layout and worker number. If you choose the worker number
// yourself, ids can repeat in these cases:
//
//   - Two processes have the same worker number.
//   - A process restarts after the clock was set back, because it does not know which
//     ids it issued before.
//   - A process ends and starts again within MaxAhead plus one tick.
//
// Package worker lists what each source of worker numbers requires. A pool that was
// opened with snowkey.Open leases its worker number, which excludes all three cases.
package idgen
