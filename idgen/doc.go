// Package idgen makes 64-bit, time-ordered ids of the snowflake family: time,
// worker number and sequence packed into 63 bits by a [Layout].
//
// A process opens one [Pool] with snowkey.Open or [NewPool] and passes it to
// [SetDefault]. A pool has one worker number, and all of its generators use it.
// Most programs never call a generator themselves: an ent mixin or a GORM plugin
// calls it when a row is created.
//
// # The algorithm
//
// A [Generator] keeps one integer, the counter of its last id: tick and sequence
// packed together. A call computes
//
//	next = max(last + 1, now<<sequenceBits | spread)
//
// and stores it by compare-and-swap. Because next is always larger than last, no
// number repeats, whether the clock runs, stands still or goes back. When the
// sequence of a tick is full, last + 1 is the first number of the next tick.
//
// The fields of [Config] decide how far next may run ahead of the clock:
//
//	up to MaxAhead       the call returns at once
//	up to MaxWait more   the call takes its number and waits for the clock
//	beyond that          the call fails with *[ClockError] and takes no number
//	beyond MaxBehind     the generator also reports that it is [Down]
//
// A wait holds no lock and ends with the caller's context. A call that gives up
// leaves a gap. With [Config.Rotate], a layout that has a rollback field continues
// instead of failing.
//
// # Ids without order
//
// All calls of a generator update one word of memory and read the clock. An
// [Unordered] takes blocks of numbers from a generator and hands them out in
// several places at once. Its ids are as unique, and on many cores it is much
// faster, but they are not in order.
//
// # Dense numbers
//
// Package segment hands out dense numbers by name, from a row that processes share.
//
// # Limits
//
// Ids are unique per layout and worker number. If you choose the worker number
// yourself, ids can repeat in these cases:
//
//   - Two processes have the same worker number.
//   - A process restarts after the clock was set back. It does not know which ids it
//     issued before.
//   - A process restarts within MaxAhead and one tick of its end.
//
// Package worker lists what each source of worker numbers requires. A pool of
// snowkey.Open leases its worker number, which excludes all three cases.
package idgen
