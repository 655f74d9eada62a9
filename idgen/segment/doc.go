// Package segment hands out dense numbers, 1, 2, 3 and so on, that processes share
// through a store.
//
// For each name the store keeps a bound: the first number that it has granted to
// nobody. One statement moves it, and grants a segment, which is a range of numbers.
// A [Segment] fetches segments before they are needed, so calls do not wait for the
// store. How many numbers it fetches follows demand; see [Config].
//
// The numbers of one Segment are dense and ascend. Those of several processes
// interleave by the step. A number that was granted and not drawn when its process
// ended is never used, nor is one whose grant was lost on the way. Nothing is given
// back: a gap is harmless, and a number that is given back twice is not.
//
// Package segmentstore keeps the bounds in a table of the application's database.
// Package segmenttest tests stores that you write.
package segment
