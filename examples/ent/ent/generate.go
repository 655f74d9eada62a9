// Package ent is the client that ent generates from the schema package next to it. It is
// shared by the examples.
package ent

//go:generate go run entgo.io/ent/cmd/ent generate ./schema
