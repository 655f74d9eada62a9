// Package snowkey opens a pool of 64-bit, time-ordered ids for the primary keys of
// Go ORMs.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//	idgen.SetDefault(ids)
//
// With the pool set as the default, the integrations fill the key of each new row. Open
// leases a worker number from the application's own database, which makes sure that the
// ids of two processes differ. If your program already has worker numbers of its own,
// use [idgen.NewPool] instead.
//
// The packages are:
//
//   - idgen makes ids: Layout, Generator and Pool.
//   - idgen/worker returns worker numbers without a lease.
//   - lease describes how worker numbers are leased.
//   - lease/sqlstore keeps leases in Postgres, MySQL, MariaDB or SQLite.
//   - schema/pk has the types of key columns for Go, JSON and the database.
//   - ent/entid fills the keys of ent.
//   - hooks/gormid fills the keys of GORM.
//
// [idgen.NewPool]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#NewPool
package snowkey
