// Package ent is the client of the tests, generated from the schema beside it
// as a user's would be.
package ent

//go:generate go run entgo.io/ent/cmd/ent generate --feature sql/upsert ./schema
