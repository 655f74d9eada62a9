// Package segment issues dense numbers, 1, 2, 3 and so on, that processes share
// through a store.
//
// For each name the store keeps a bound: the first number that was not granted. One
// statement raises the bound and grants a segment, which is a range of numbers. A
// [Segment] fetches segments before they are needed, so calls do not wait for the
// store. The size of these segments follows demand; see [Config].
//
// The numbers of one Segment are dense and ascend. If several processes use a name, each
// fetches ranges of its own, one step at a time. If a process ends, the rest of its range
// is never used, and if the reply to a fetch is lost, neither is the range that it
// granted. Numbers are not returned to the store, because a gap is harmless, and a
// duplicate is not.
//
// Package segmentstore keeps the bounds in a table of the application's database.
// Package segmenttest tests stores that you write.
package segment
