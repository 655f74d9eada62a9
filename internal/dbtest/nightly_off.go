//go:build !nightly

package dbtest

// Nightly is true in the tests of make nightly, which set the build tag nightly. They
// try all points instead of some, and run for longer.
const Nightly = false
