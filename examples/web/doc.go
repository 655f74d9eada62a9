// Package web shows how keys pass the edges of a Go program: JSON, protobuf,
// the forms and URLs of gin, echo and chi, GraphQL, OpenAPI and CSV.
//
// It is all tests. They feed each edge two ids that differ by one and a few bad
// ones, for every type that a program may choose, and write what came of it as
// the tables of docs/web.md:
//
//	go test . -update
//	GOEXPERIMENT=jsonv2 go test . -update
//
// It is a module of its own, so that the frameworks are nobody's dependency.
package web
