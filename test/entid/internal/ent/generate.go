// Package ent is the client used by the tests. Just like a user's client, it is
// generated from the schema package next to it. Package bulk is a second client for the
// same entities, but without the traps, and generated with the extension of package
// entidgen.
package ent

//go:generate go run entc.go
