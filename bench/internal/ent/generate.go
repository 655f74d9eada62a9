// Package ent is the client that ent generates from the schema package next to it, with
// the extension of package entidgen.
package ent

//go:generate go run entc.go
