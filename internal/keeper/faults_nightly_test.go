//go:build nightly

package keeper_test

func init() { seeds = 200 }
