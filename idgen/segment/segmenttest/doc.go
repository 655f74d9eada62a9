// Package segmenttest helps to test stores of segments and the code that uses them.
// [Run] is the test suite that every [segment.Store] must pass. [Memory] is a store in
// memory that can be slow or fail when a test needs it.
package segmenttest
