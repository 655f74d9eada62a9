// Package snowkey is the front door: it opens a pool of 64-bit, time-ordered
// primary keys, which fill themselves when an ORM creates a row.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//	idgen.SetDefault(ids)
//
// The pool's worker number, which makes the keys of two processes differ, is
// leased from the application's own database. A program that has a worker number
// makes its pool with [idgen.NewPool].
//
//	idgen          makes the numbers: Layout, Generator, Pool
//	idgen/worker   finds a worker number without a lease
//	lease          leases one; its documentation is the protocol
//	lease/sqlstore keeps leases in Postgres, MySQL, MariaDB or SQLite
//	schema/pk      holds a key in Go, JSON and the database
//	ent/entid      fills the keys of ent
//	hooks/gormid   fills the keys of GORM
//
// The integrations draw from the pool given to [idgen.SetDefault].
//
// [idgen.NewPool]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#NewPool
// [idgen.SetDefault]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#SetDefault
package snowkey
