// Package snowkey is the module's front page: 64-bit, time-ordered primary keys
// that fill themselves when an ORM creates a row.
//
//	idgen          makes the numbers: Layout, Generator, Pool
//	idgen/worker   finds a worker number
//	schema/pk      holds a key in Go, JSON and the database
//	ent/entid      fills the keys of ent
//	hooks/gormid   fills the keys of GORM
//
// A program makes one pool with [idgen.NewPool] and hands it to
// [idgen.SetDefault]; the integrations draw from it.
//
// [idgen.NewPool]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#NewPool
// [idgen.SetDefault]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#SetDefault
package snowkey
