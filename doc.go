// Package snowkey opens a pool of 64-bit, time-ordered ids for use as primary keys in Go
// ORMs.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//	idgen.SetDefault(ids)
//
// Once the pool is the default, the integrations use it to fill in the key of every new
// row. Open leases a worker number from your application's own database, which is what
// keeps ids from different processes apart. If your processes already have unique worker
// numbers (a StatefulSet ordinal, say), you can use [idgen.NewPool] and skip the lease.
//
// The packages you're likely to need:
//
//   - idgen makes ids: Layout, Generator and Pool.
//   - idgen/worker gets worker numbers without a lease.
//   - lease describes how worker numbers are leased, and what that guarantees.
//   - lease/sqlstore keeps leases in Postgres, MySQL, MariaDB or SQLite.
//   - schema/pk has key column types for Go, JSON and the database.
//   - ent/entid fills in keys for ent.
//   - hooks/gormid fills in keys for GORM.
//
// [idgen.NewPool]: https://pkg.go.dev/github.com/snowkey-go/snowkey/idgen#NewPool
package snowkey
