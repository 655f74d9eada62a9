// Package segment issues dense numbers (1, 2, 3 and so on) that processes share through a
// store. Use it for numbers that people read, such as those of support tickets, where a
// 64-bit id would be too long.
//
// A [Segment] fetches numbers in ranges, so that most calls don't have to wait for the
// store. For each name, the store keeps a bound, which is the first number not yet
// granted. A fetch raises the bound in a single statement, and the numbers in between
// belong to the process. It happens ahead of time, before the current range is used up.
// The size of the ranges follows demand; see [Config].
//
// Numbers from a single Segment ascend. If several processes use the same name, each of
// them fetches its own ranges, so their numbers interleave.
//
// Expect gaps. Numbers are never returned to the store, because that could lead to
// duplicates. The rest of a range is lost when a process ends, and a whole range is lost
// if the reply to a fetch doesn't arrive.
//
// Package segmentstore keeps the bounds in a table of the application's database. If you
// write your own store, test it with package segmenttest.
package segment
