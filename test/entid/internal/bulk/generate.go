// Package bulk is a client for the schema of package ent beside it, generated with the
// extension of package entidgen.
package bulk

//go:generate go run entc.go
