// Package ent is the client used by the suite. Just like a user's client, it is
// generated from the schema package next to it.
package ent

//go:generate go run entgo.io/ent/cmd/ent generate --feature sql/upsert ./schema
