// Package vet finds Go code that will break when a program moves off auto-increment keys,
// like an INSERT without a key, a key stored in an int32, or a JSON number that JavaScript
// rounds.
//
// It recognises keys by GORM, ent, bun, xorm, sqlx and sqlc models, by the types of package
// pk, and by the tables created by SQL in the program. From there it follows them through
// variables, functions and packages. Other integers aren't reported, even if they're narrow.
//
// See RULES.md for the rules. To run all of them, use the command snowkey vet. The analyzers
// also work with other golang.org/x/tools/go/analysis drivers, such as go vet.
package vet
