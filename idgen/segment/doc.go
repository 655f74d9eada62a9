// Package segment issues dense numbers, 1, 2, 3 and so on, that processes share
// through a store.
//
// For each name the store keeps a bound: the first number that was not granted. One
// statement raises the bound and grants a segment, which is a range of numbers. A
// [Segment] fetches segments before they are needed, so calls do not wait for the
// store. How many numbers it fetches follows demand; see [Config].
//
// The numbers of one Segment are dense and ascend. With several processes, each has
// a range of its own for one step at a time. If a process ends, or the answer to a
// fetch is lost, the rest of its range is never used. Numbers are not returned to the
// store: a gap is harmless, and a duplicate is not.
//
// Package segmentstore keeps the bounds in a table of the application's database.
// Package segmenttest tests stores that you write.
package segment
