// Package web shows how keys enter and leave a Go program: through JSON, protobuf, the
// forms and URLs of gin, echo and chi, GraphQL, OpenAPI and CSV.
//
// The package has only tests. They send two ids that differ by one, and some bad ids,
// through each format, for every type of key. Their results are the tables of
// docs/web.md:
//
//	go test . -update
//	GOTOOLCHAIN=go1.27.0 go test . -update
//
// It is a module of its own, so that other modules do not depend on the frameworks.
package web
