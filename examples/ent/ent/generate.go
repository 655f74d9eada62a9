// Package ent is the client that ent generates from the schema beside it. The
// examples share it.
package ent

//go:generate go run entgo.io/ent/cmd/ent generate ./schema
