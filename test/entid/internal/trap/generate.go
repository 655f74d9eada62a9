// Package trap is a client whose schema does what package entid exists to
// avoid, so that the tests can show it going wrong.
package trap

//go:generate go run entgo.io/ent/cmd/ent generate ./schema
