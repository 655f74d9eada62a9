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
// [SQLite] return one database. A test fails if it needs a server and there is none. To
// run the tests on some databases only, list those in SNOWKEY_TEST_DB. For example,
// SNOWKEY_TEST_DB=sqlite needs no server. The program withdb leaves out the databases
// that are not available, and says so.
//
// # Where a server comes from
//
// For each database, dbtest uses the first of these that is available:
//
//  1. SNOWKEY_TEST_POSTGRES, SNOWKEY_TEST_MYSQL: the DSN of a server whose user
//     may create databases. The second can be a MySQL or a MariaDB.
//  2. A private server in a temporary directory, on a free port of the loopback
//     interface, if the programs are installed on this machine. If the tests run as
//     root, the server runs under the account of the database's package or nobody.
//  3. As root on Debian or Ubuntu, apt-get install if SNOWKEY_TEST_INSTALL is 1, and
//     then 2. The services of the packages are not started.
//  4. On Debian or Ubuntu, the packages of the system, unpacked into a cache and not
//     installed, and then 2. The cache is ~/.cache/snowkey, for root
//     /var/cache/snowkey, or the folder in SNOWKEY_TEST_CACHE.
//  5. docker compose up -d --wait with the repository's docker-compose.yml.
//
// If the first available way fails, the test fails. dbtest does not try the next one.
//
// Tests that kill a server or set its clock need a private server, and fail if none can
// be started. If SNOWKEY_TEST_MISSING is the name of a file, such tests are skipped
// instead, and add their names to the file. The program withdb sets this variable and
// counts the skipped tests at the end.
//
// # The life of a server
//
// A private server belongs to the test binary that started it, and all tests of
// that binary share it. A small shell script, the warden, stops the server when the
// binary ends. To notice that, the warden waits on a pipe whose other end is open in
// the test binary only. When the binary ends, by return, panic or kill -9, the kernel
// closes the pipe. The warden then stops the server and removes its directory.
//
// go test ./... runs many test binaries, and each starts the servers that it needs.
// That takes a second or two for each binary. To start one set of servers for a whole
// command, run it with withdb, as make test does:
//
//	go run ./internal/dbtest/withdb go test ./...
//
// Because several test binaries may use the same containers, containers run until
// withdb or docker compose down stops them.
//
// # Speed and durability
//
// The servers above do not flush to disk. A test that kills its server and then reads
// its data uses [Durable].
//
// # Faults
//
//   - [Killable]: the server can be killed and started again.
//   - [WithCommand]: the server has other options or another environment.
//   - [StandbyOf]: a Postgres fails over without its last commits.
//   - [FilesOf], [RecoveryOf]: a Postgres is restored from a backup.
//   - [DB.Through]: a proxy loses or delays requests and replies.
//   - [DB.ThroughPgBouncer]: a connection pooler is between the test and the server.
package dbtest
