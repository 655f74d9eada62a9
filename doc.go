// Package snowkey opens a pool that generates 64-bit, time-ordered ids. Use them as primary
// keys with a Go ORM or driver.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//	idgen.SetDefault(ids)
//
// The integrations for ORMs fill the key of every new row from the default pool, which
// idgen.SetDefault sets.
//
// Open leases a worker number from your application's own database. Each id contains this
// number, so that different processes can't generate the same id. If your processes already
// have unique worker numbers (e.g. a StatefulSet ordinal), use [idgen.NewPool] instead, which
// doesn't need a lease.
//
// These are the most important packages:
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
