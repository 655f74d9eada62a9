// Package ent is a client with Relay and entql. It is generated, with package graph,
// and is not in the repository.
package ent

//go:generate go run ../generate
