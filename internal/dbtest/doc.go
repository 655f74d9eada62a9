// Package dbtest gives tests real database servers.
//
//	func TestInsert(t *testing.T) {
//		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
//			conn := db.Connect(t) // a fresh, empty database; dropped when t ends
//			...
//		})
//	}
//
// [Each] covers every database of the run, [Postgres], [MySQL] and [SQLite]
// one. Nothing is skipped in silence: a test that needs a server and gets none
// fails, unless SNOWKEY_TEST_DB names the databases to cover
// (SNOWKEY_TEST_DB=sqlite needs no server at all). Withdb, below, leaves out what
// cannot be had, and says so.
//
// # Where a server comes from
//
// For each database, the first of these that this machine offers:
//
//  1. SNOWKEY_TEST_POSTGRES, SNOWKEY_TEST_MYSQL: the DSN of a server whose user
//     may create databases. MySQL or MariaDB, the tests ask which.
//  2. A private server in a temporary directory, on a free port of the loopback
//     interface, from the programs installed here; as root, under the account
//     of the database's own package or nobody.
//  3. As root on Debian or Ubuntu, if SNOWKEY_TEST_INSTALL=1 allows it, apt-get
//     install, and then 2. The packages' own services are not started.
//  4. On Debian or Ubuntu, the system's packages, unpacked into a cache and not
//     installed, and then 2. The cache is ~/.cache/snowkey, for root
//     /var/cache/snowkey, or below SNOWKEY_TEST_CACHE.
//  5. docker compose up -d --wait with the repository's docker-compose.yml.
//
// A way that exists and fails is an error; the next is not tried behind the
// user's back.
//
// Tests that kill a server or set its clock need a private one. Where there can
// be none they fail. They are skipped if SNOWKEY_TEST_MISSING names a file, to
// which each then adds its name. Withdb sets that, and counts them at the end.
//
// # Who shares it, and when it ends
//
// A private server belongs to the test binary that started it, and all tests of
// that binary share it. It holds no data worth keeping, so it has one way to
// end: a small shell, the warden, waits on a pipe whose other end only the
// owner holds. However the owner ends, by return, panic or kill -9, the kernel
// closes the pipe, and the warden ends the server and removes its directory.
//
// go test ./... runs many test binaries, and each has servers of its own if it
// asks for one. That costs a second or two a binary, and in return there is no
// lock, no daemon and nothing to go stale. To pay once, start one set of servers
// for a whole command, as make test does:
//
//	go run ./internal/dbtest/withdb go test ./...
//
// Containers are the exception: several test binaries may be using them, so
// they stay up until withdb, or docker compose down, ends them.
//
// # Speed and durability
//
// The servers above do not flush to disk, because what a test asserts does not
// survive it. A test that kills its server and reads on asks for [Durable].
//
// # Doing harm
//
// [Killable] is for tests that kill the server, [WithCommand] for those that start
// it with other options or another environment, [StandbyOf] for a Postgres that
// fails over without its last commits, [FilesOf] and [RecoveryOf] for one that is
// restored from a backup. [DB.Through] puts a bad network between a test and any
// server, and [DB.ThroughPgBouncer] a pooler.
package dbtest
