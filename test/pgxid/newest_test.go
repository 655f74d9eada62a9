//go:build newest

package pgxid_test

func init() { typedNils = true }
