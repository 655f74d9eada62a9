//go:build nightly

package sqlgen

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

// These tests are like those of lost_test.go, on servers that crash,
// fail over, or have other settings.

// TestPromotedStandby kills a server whose standby lacks the last ids, and goes on with the
// standby.
func TestPromotedStandby(t *testing.T) {
	t.Parallel()
	primary, process := dbtest.Killable(t, "postgres")
	primary.Since(t, 15)
	db := primary.Connect(t)
	install(t, db, patient)
	query(t, db, "SELECT snowkey_next()")
	standby := dbtest.StandbyOf(t, primary)
	dbtest.NoError(t, standby.Lag())
	const some = "SELECT snowkey_next() UNION ALL SELECT * FROM snowkey_next(99) UNION ALL SELECT snowkey_next()"
	before := query(t, db, some)
	dbtest.NoError(t, process.Kill())
	dbtest.NoError(t, standby.Promote())
	requireAbove(t, query(t, standby.Connect(t), some), before)
}

// TestDamagedSequences promotes a standby that was there before the SQL was executed. Some
// versions of PostgreSQL then damage unlogged sequences, unless the standby has written
// them to its disk. Executing the SQL again mends that.
func TestDamagedSequences(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		primary := dbtest.Durable(t, "postgres").Since(t, 15)
		standby := dbtest.StandbyOf(t, primary)
		db := primary.Connect(t)
		install(t, db, sqlgen.Writer{})
		before := query(t, db, "SELECT snowkey_next()")
		if written {
			dbtest.Exec(t, db, "CHECKPOINT")
		}
		dbtest.NoError(t, standby.Lag())
		if written {
			dbtest.Exec(t, standby.Connect(t), "CHECKPOINT")
		}
		dbtest.NoError(t, standby.Promote())
		db = standby.Connect(t)
		version := count(t, db, "current_setting('server_version_num')::int")
		_, err := db.Exec("SELECT snowkey_next()")
		switch e, ok := errors.AsType[*pgconn.PgError](err); {
		case err == nil && !written && slices.Contains([]int64{150018, 180004}, version):
			t.Error("the sequences are not damaged")
		case err != nil && (written || !ok || e.Code != "XX001" || !strings.Contains(e.Hint, `run the SQL of "snowkey sql" again`)):
			t.Errorf("written %v: %v", written, err)
		}
		install(t, db, sqlgen.Writer{})
		requireAbove(t, query(t, db, "SELECT snowkey_next()"), before)
	}
}

// TestCrash kills the server right after a number was reserved, or an id returned, whose
// transaction did not wait for the disk. The reservation must survive, and a crash must empty
// the sequences.
func TestCrash(t *testing.T) {
	t.Parallel()
	db, process := dbtest.Killable(t, "postgres", "wal_writer_delay=10s")
	db.Since(t, 15)
	c := db.Connect(t)
	c.SetMaxIdleConns(0)
	install(t, c, patient)
	statements := ofPostgres.on(t, sqlgen.Writer{Namespace: "kept", Name: "kept"})
	reserves := slices.IndexFunc(statements, func(s string) bool { return strings.Contains(s, "is leased by") })
	dbtest.Exec(t, session(t, c), append([]string{"SET synchronous_commit = off"}, statements[:reserves+1]...)...) // a later one may flush
	restart(t, process)
	if count(t, c, "count(*) FROM snowkey_lease WHERE namespace = 'kept' AND token LIKE 'sql:%'") != 1 {
		t.Error("the reservation has not survived")
	}

	dbtest.Exec(t, c, "CREATE TABLE rows (id bigint DEFAULT snowkey_next())")
	for _, statement := range []string{"SELECT snowkey_next()", "SELECT snowkey_next(1)", "INSERT INTO rows DEFAULT VALUES RETURNING id"} {
		open := dbtest.Must(c.BeginTx(t.Context(), nil))(t)
		dbtest.Exec(t, open, "SET LOCAL synchronous_commit = off")
		query(t, open, statement)
		dbtest.Exec(t, c, "CHECKPOINT")
		for range 40 { // as many as the server logs ahead, and more
			query(t, open, statement)
		}
		async := session(t, c)
		dbtest.Exec(t, async, "SET synchronous_commit = off")
		before := query(t, async, statement)
		restart(t, process)
		_ = open.Rollback() // ignore the error, because the connection is lost
		var after []int64
		for range 99 {
			after = append(after, query(t, c, statement)...)
		}
		requireAbove(t, after, before)
	}
}

// restart kills a server and starts it again.
func restart(t *testing.T, process *dbtest.Process) {
	t.Helper()
	dbtest.NoError(t, process.Kill())
	dbtest.NoError(t, process.Start())
}

// TestCrashAndClock kills the server and sets its clock back, as a machine without a clock
// that runs on. Ids of rows that were committed are on disk, in the counter.
func TestCrashAndClock(t *testing.T) {
	t.Parallel()
	server, process := dbtest.Clocked(t, "postgres")
	server.Since(t, 15)
	db := server.Connect(t)
	db.SetMaxIdleConns(0)
	install(t, db, sqlgen.Writer{})
	dbtest.Exec(t, db, "CREATE TABLE rows (id bigint DEFAULT snowkey_next())")
	const insert = "INSERT INTO rows DEFAULT VALUES RETURNING id"
	dbtest.NoError(t, process.SetClock(30*time.Minute))
	before := query(t, db, insert)
	dbtest.NoError(t, process.Kill())
	dbtest.NoError(t, process.SetClock(0))
	dbtest.NoError(t, process.Start())
	if _, err := db.ExecContext(t.Context(), insert); err == nil || !strings.Contains(err.Error(), "ahead of the clock") {
		t.Errorf("30 minutes back: %v", err)
	}
	dbtest.NoError(t, process.SetClock(31*time.Minute))
	requireAbove(t, query(t, db, insert), before)
}

// replicaOf returns the copy of a database on a replica, which accepts writes, and a function
// that ends the replication.
func replicaOf(t *testing.T, primary dbtest.DB) (replica dbtest.DB, lag func()) {
	t.Helper()
	replica, _ = dbtest.Killable(t, "mysql", "server-id=2")
	admin := replica.Connect(t)
	from := dbtest.Must(mysql.ParseDSN(primary.DSN))(t)
	to := dbtest.Must(mysql.ParseDSN(replica.DSN))(t)
	_, port, _ := strings.Cut(from.Addr, ":")
	change, replication := "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %s, SOURCE_USER = '%s', SOURCE_PASSWORD = '%s', SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1", "REPLICA"
	if primary.MariaDB {
		change, replication = "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %s, MASTER_USER = '%s', MASTER_PASSWORD = '%s', MASTER_CONNECT_RETRY = 1", "SLAVE"
	}
	dbtest.Exec(t, admin, fmt.Sprintf(change, port, from.User, from.Passwd), "START "+replication)
	dbtest.Await(t, "the database on the replica", func() bool {
		return count(t, admin, "COUNT(*) FROM information_schema.schemata WHERE schema_name = '"+from.DBName+"'") > 0
	})
	to.DBName = from.DBName
	replica.DSN = to.FormatDSN()
	return replica, func() { dbtest.Exec(t, admin, "STOP "+replication) }
}

// TestMySQLPromotedReplica kills a server whose replica lacks the last ids, and goes on with
// the replica.
func TestMySQLPromotedReplica(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	primary, process := dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1", "binlog-format=MIXED")
	replica, lag := replicaOf(t, primary)
	db, copied := primary.Connect(t), replica.Connect(t)
	dbtest.Exec(t, db, k.on(t, k.patient)...)
	dbtest.Exec(t, db, "CREATE TABLE `rows` (id "+k.column+" PRIMARY KEY, v INT)", trigger("rows"))
	// The binary log has the ids, and not the call of the function.
	dbtest.Exec(t, db, "INSERT INTO `rows` (v) "+many(200, "i"))
	const sum = "CAST(SUM(id % 1000003) AS SIGNED) FROM `rows`"
	want := count(t, db, sum)
	dbtest.Await(t, "the rows of the primary on the replica", func() bool {
		var got sql.Null[int64]
		return copied.QueryRow("SELECT "+sum).Scan(&got) == nil && got.V == want
	})
	lag()
	before := query(t, db, k.some)
	live := session(t, db)
	dbtest.Exec(t, live, "SET SESSION binlog_format = STATEMENT")
	if _, err := live.ExecContext(t.Context(), "INSERT INTO `rows` (v) VALUES (1)"); err == nil || !strings.Contains(strings.ToLower(err.Error()), "binlog_format = statement") {
		t.Errorf("with binlog_format = STATEMENT: %v", err)
	}
	dbtest.NoError(t, process.Kill())
	requireAbove(t, query(t, copied, k.some), before)
}

// TestMySQLCrash kills the server right after rows were committed, while another
// transaction is open.
func TestMySQLCrash(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	server, process := dbtest.Killable(t, "mysql", "innodb-flush-log-at-trx-commit=1", "innodb-flush-log-at-timeout=60")
	db := server.Connect(t)
	db.SetMaxIdleConns(0)
	dbtest.Exec(t, db, k.on(t, k.patient)...)
	dbtest.Exec(t, db, "CREATE TABLE `rows` (id "+k.column+" PRIMARY KEY, v INT)", trigger("rows"))
	for range 2 {
		open := dbtest.Must(db.BeginTx(t.Context(), nil))(t)
		dbtest.Exec(t, open, "INSERT INTO `rows` (v) "+many(40, "i"))
		dbtest.Exec(t, db, "INSERT INTO `rows` (v) "+many(400, "i"))
		before := query(t, db, "SELECT id FROM `rows`")
		restart(t, process)
		_ = open.Rollback() // ignore the error, because the connection is lost
		requireAbove(t, query(t, db, k.some), before)
	}
}

// TestMySQLCluster runs the SQL on a member of a Galera cluster, and of a group with several
// primaries, which refuse it.
func TestMySQLCluster(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	start, refusal := cluster.GroupReplication, "multi-primary"
	if k.mariaDB {
		start, refusal = cluster.Galera, "not safe on Galera"
	}
	db := start(t, 1)[0].DB.Connect(t)
	err := refused(t, db, k.on(t, k.w))
	if err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("on a cluster: %v", err)
	}
	if k.mariaDB && count(t, db, "count(*) FROM snowkey_lease") > 0 {
		t.Error("rows were left")
	}
}

// TestMySQLBinaryLog is TestMySQLOwner on a server that has a binary log, on which only some
// users can create functions.
func TestMySQLBinaryLog(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	db, _ := dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1")
	admin := db.Connect(t)
	_, user := userOf(t, db, admin, "ALL ON DATABASE")
	const noSuper = 1419
	e, ok := errors.AsType[*mysql.MySQLError](refused(t, user, k.on(t, sqlgen.Writer{})))
	if !ok || e.Number != noSuper {
		t.Errorf("without SUPER: %v", e)
	}
	t.Run("SUPER", func(t *testing.T) {
		asOwner(t, db, admin, k, "ALL ON DATABASE", "SUPER ON *.*")
	})
	t.Run("log_bin_trust_function_creators", func(t *testing.T) {
		dbtest.Exec(t, admin, "SET GLOBAL log_bin_trust_function_creators = 1", "DROP TABLE `rows`")
		asOwner(t, db, admin, k, "ALL ON DATABASE")
	})
}
