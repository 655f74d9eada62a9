// Package segment issues dense numbers (1, 2, 3 and so on) that processes share through a
// store.
//
// For each name, the store keeps a bound, which is the first number not yet granted. A
// single statement raises the bound and so grants a range of numbers, called a segment. A
// [Segment] fetches these ahead of time, meaning that calls normally don't have to wait
// for the store. Segment sizes follow demand; see [Config].
//
// Numbers from a single Segment are dense and ascending. When several processes use the
// same name, each of them fetches its own ranges, one step at a time. You should still
// expect gaps: the rest of a range is lost when a process ends, as is a range granted by
// a fetch whose reply got lost. Numbers are never returned to the store (better a gap
// than a duplicate).
//
// Package segmentstore keeps the bounds in a table of the application's database. If you
// write your own store, test it with package segmenttest.
package segment
