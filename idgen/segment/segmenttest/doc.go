// Package segmenttest helps with testing segment stores and the code using them. [Run] is
// the test suite every [segment.Store] must pass, and [Memory] is an in-memory store that
// a test can slow down or make fail.
package segmenttest
