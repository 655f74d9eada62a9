// Package trap is a client whose schema does everything that package entid is meant to
// prevent, so that the tests can show what goes wrong.
package trap

//go:generate go run entgo.io/ent/cmd/ent generate ./schema
