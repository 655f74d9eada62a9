//go:build nightly

package dbtest

const Nightly = true
