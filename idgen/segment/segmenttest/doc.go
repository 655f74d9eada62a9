// Package segmenttest tests what grants numbers to segments: [Run] is the suite
// that every [segment.Store] passes, and [Memory] is a store for the tests of
// its users, which is slow and fails on demand.
package segmenttest
