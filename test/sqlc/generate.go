// Package sqlc tests the clients that sqlc generates for keys of package pk. See
// docs/sql.md.
package sqlc

//go:generate env -u GOMAXPROCS CGO_ENABLED=0 go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
