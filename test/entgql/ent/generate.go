// Package ent is a client with Relay and entql. It isn't in the repository, but
// generated together with package graph.
package ent

//go:generate go run ../generate
