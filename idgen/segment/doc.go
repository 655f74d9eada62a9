// Package segment issues dense numbers, 1, 2, 3 and so on, that processes share
// through a store.
//
// For each name, the store keeps a bound, which is the first number that was not
// granted. A single statement raises the bound, and so grants a range of numbers,
// called a segment. A [Segment] fetches its segments ahead of time, so that calls
// normally don't have to wait for the store. The size of the segments follows demand;
// see [Config].
//
// The numbers of one Segment are dense and ascend. If several processes use the same
// name, each of them fetches its own ranges, one step at a time. There can be gaps,
// however. When a process ends, the rest of its range is never used, and neither is a
// range that was granted by a fetch whose reply was lost. Numbers are never returned to
// the store, because a gap is harmless, whereas a duplicate is not.
//
// Package segmentstore keeps the bounds in a table of the application's database. If
// you write your own store, test it with package segmenttest.
package segment
