// Package vet finds Go code that breaks when a program leaves auto-increment keys: an INSERT
// without a key, a key in an int32, a JSON number that JavaScript rounds.
//
// It recognises keys by the models of GORM, ent, bun, xorm, sqlx and sqlc, by the types of
// package pk, and by the tables that SQL in the program creates. From there it follows them
// through variables, functions and packages. Other integers are not reported, even if they
// are narrow.
//
// RULES.md lists the rules. The command snowkey vet runs all of it. The analyzers also work
// with other drivers of golang.org/x/tools/go/analysis, such as go vet.
package vet
