// Package idgen makes 64-bit, time-ordered ids of the snowflake family: time,
// worker and sequence packed into 63 bits by a [Layout] of your choice.
//
// A process opens one [Pool] with [NewPool] and makes it the [Default]. The
// pool is the process's claim on one worker number; its generators share that
// number. Most programs never call a generator themselves: an ent mixin or a
// GORM plugin does, whenever a row is created.
//
// # The algorithm
//
// A [Generator] keeps one integer, the counter it handed out last: tick and
// sequence packed together. A call computes
//
//	next = max(last + 1, now<<sequenceBits | spread)
//
// and swaps it in. That one line is the order of ids, the overflow of a full
// sequence into the next tick, and a clock that stands still or goes back. It
// never repeats a number, whatever the clock does, because next is always
// larger than last.
//
// What remains is how far next may run ahead of the clock. [Config] says:
//
//	up to MaxAhead       the call returns at once
//	up to MaxWait more   the call keeps its slot and waits for the clock
//	beyond that          the call fails with *[ClockError], taking no slot
//	beyond MaxBehind     the generator also reports itself [Down]
//
// A wait holds no lock, ends with the caller's context and leaves at worst a
// gap. A layout with a rollback field may [Config.Rotate] instead of failing.
//
// # Without order
//
// All calls of a generator meet on one word, and look at the clock. An [Unordered]
// takes numbers by the block and draws from those, in several places at once: as
// unique, much faster on many cores, and without order.
//
// # Dense numbers
//
// Package segment hands out dense numbers by name, from a row that processes share.
//
// # What it does not promise
//
// Ids are unique per layout and worker. With a worker number of your own, two
// processes that share it make equal ids, and so does one that restarts with a
// clock set back, or sooner than MaxAhead and one unit of the layout after its
// end: nothing in memory survives to forbid it. Package worker lists what each
// source of worker numbers asks of you. A pool that
// snowkey.Open makes, has a lease that excludes both.
package idgen
