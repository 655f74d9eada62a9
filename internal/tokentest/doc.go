// Package tokentest has the tests that every [token.Store] must pass.
package tokentest
