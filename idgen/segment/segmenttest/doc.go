// Package segmenttest helps to test stores of segments and the code that uses them.
// [Run] is the test suite that every [segment.Store] must pass, and [Memory] is an
// in-memory store that a test can make slow or make fail.
package segmenttest
