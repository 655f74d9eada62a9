package sqlgen

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// These tests are like those of lost_test.go. Each also leaves out the rule that it tests,
// and then ids must repeat or be below earlier ones.

// sessionOfMariaDB is what binds the variables to a session of a database.
const sessionOfMariaDB = "BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID())"

var (
	// The counter is never raised above what may be lost.
	neverRaisesMariaDB = []string{
		"SET known = NOT lowered AND past MOD 1099511627776 = hash;", "SET known = TRUE;",
		"OR @`snowkey_next of` = " + sessionOfMariaDB + " AND v <= @`snowkey_next last` THEN", "AND FALSE THEN",
	}
	// A session uses the number to which it has raised the counter.
	keepsRaisedMariaDB = []string{"s = CONNECTION_ID();\n\t\t\tSET v = NULL;", "s = CONNECTION_ID();"}
	// A session keeps its limit when a dump is restored.
	keepsLimitsMariaDB = []string{"AND LASTVAL(`snowkey_next_sessions`) IS NOT NULL THEN", "THEN"}
)

// The first call of a session waits for MaxClockSkew, so these tests have a short one.
var (
	quick        = sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond}
	quickPatient = sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond, Window: 10 * time.Minute}
	quickWrong   = sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond, Window: 10 * time.Minute, Namespace: "wrong", Name: "wrong_next"}
)

const (
	some = "SELECT snowkey_next() FROM seq_1_to_200"
	born = " FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease'"
)

// later waits until tables that are created now have a later time of creation, which the
// server keeps in seconds.
func later(t *testing.T, db *sql.DB) {
	t.Helper()
	for count(t, db, "UNIX_TIMESTAMP(SYSDATE()) > UNIX_TIMESTAMP(create_time)"+born) == 0 {
		time.Sleep(20 * time.Millisecond)
	}
}

func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestMariaDBDropped drops what the function consists of and creates it again, while a
// session stays open that has made ids before.
func TestMariaDBDropped(t *testing.T) {
	t.Parallel()
	all := append(quickPatient.MariaDBDrop(), "DROP TABLE snowkey_next_counter, snowkey_next_history", "DROP SEQUENCE snowkey_next_sessions")
	for _, tt := range []struct {
		name  string
		drop  []string
		edits []string
		above bool
	}{
		{"the function", quickPatient.MariaDBDrop(), nil, true},
		{"all", all, nil, true},
		{"the counter", []string{"DROP TABLE snowkey_next_counter"}, nil, true},
		{"the counter, truncated", []string{"TRUNCATE TABLE snowkey_next_counter"}, nil, true},
		{"the counter, lowered", []string{"ALTER TABLE snowkey_next_counter AUTO_INCREMENT = 1000000"}, nil, true},
		{"the history", []string{"DROP TABLE snowkey_next_history"}, nil, true},
		{"the sequence", []string{"DROP SEQUENCE snowkey_next_sessions"}, nil, true},
		{"all, and the counter is not raised", all, neverRaisesMariaDB, false},
		{"the counter, lowered, and it is not raised", []string{"ALTER TABLE snowkey_next_counter AUTO_INCREMENT = 1000000"}, neverRaisesMariaDB, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := mariaDB(t).Connect(t)
			live := session(t, db)
			statements := onMariaDB(t, quickPatient, tt.edits...)
			run(t, db, statements...)
			before := query(t, live, some)
			later(t, db)
			run(t, db, tt.drop...)
			run(t, db, statements...)
			run(t, db, statements...)
			after := query(t, live, some)
			if above(after[64:], before) != tt.above {
				t.Errorf("after the drop, %d follows %d", after[64], before[199])
			}
			if other := query(t, db, some); tt.above && !above(other, append(before, after...)) {
				t.Errorf("in another session, %d follows %d and %d", other[0], before[199], after[199])
			}
		})
	}
}

// TestMariaDBDump restores a dump into the same database, while an idle session stays open
// that has made ids before. It also restores it into another database.
func TestMariaDBDump(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits   []string
		repeats bool
	}{
		"":                            {nil, false},
		"the counter is not raised":   {neverRaisesMariaDB, true},
		"limits of sessions are kept": {keepsLimitsMariaDB, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := mariaDB(t)
			db := from.Connect(t)
			live := session(t, db)
			run(t, db, onMariaDB(t, quickPatient, tt.edits...)...)
			run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, v INT)", quickPatient.MySQLTrigger("rows", "id"))
			const fill = "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_200 RETURNING id"
			made := query(t, live, fill)
			args, port := clientOf(t, from)
			dump := tool(t, nil, "mariadb-dump", append(args, "--routines", "--triggers")...)
			made = append(made, query(t, db, fill)...)
			later(t, db)
			tool(t, dump, "mariadb", args...)
			again := query(t, live, fill)
			// The session may still have numbers of a block that it drew before the dump.
			if above(again[64:], made) == tt.repeats {
				t.Errorf("after the restore, %d follows %d", again[64], made[len(made)-1])
			}
			if name == "" {
				other := mariaDB(t)
				args, otherPort := clientOf(t, other)
				if port != otherPort {
					t.Fatal("the databases are on different servers")
				}
				tool(t, dump, "mariadb", args...)
				if ids := query(t, other.Connect(t), fill); !above(ids, append(made, again...)) {
					t.Errorf("in another database, %d follows %d", ids[0], again[len(again)-1])
				}
			}
		})
	}
}

// clientOf returns the arguments of the programs of MariaDB or MySQL for a database, and
// the port of the server.
func clientOf(t *testing.T, db dbtest.DB) (args []string, port string) {
	t.Helper()
	cfg, err := mysqldriver.ParseDSN(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(cfg.Addr, ":")
	return []string{"--no-defaults", "--host=" + host, "--port=" + port, "--user=" + cfg.User, "--password=" + cfg.Passwd, cfg.DBName}, port
}

// replicaOf returns the copy of a database on a replica, which accepts writes, and a function
// that ends the replication.
func replicaOf(t *testing.T, primary dbtest.DB) (replica dbtest.DB, lag func()) {
	t.Helper()
	replica, _ = dbtest.Killable(t, "mysql", "server-id=2")
	admin := replica.Connect(t)
	from, err := mysqldriver.ParseDSN(primary.DSN)
	if err != nil {
		t.Fatal(err)
	}
	to, err := mysqldriver.ParseDSN(replica.DSN)
	if err != nil {
		t.Fatal(err)
	}
	_, port := clientOf(t, primary)
	run(t, admin, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %s, MASTER_USER = '%s', MASTER_PASSWORD = '%s', MASTER_CONNECT_RETRY = 1", port, from.User, from.Passwd), "START SLAVE")
	for deadline := time.Now().Add(30 * time.Second); count(t, admin, "COUNT(*) FROM information_schema.schemata WHERE schema_name = '"+from.DBName+"'") == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the replica does not have the database")
		}
	}
	to.DBName = from.DBName
	replica.DSN = to.FormatDSN()
	return replica, func() { run(t, admin, "STOP SLAVE") }
}

// TestMariaDBPromotedReplica kills a server whose replica lacks the last ids, and goes on
// with the replica.
func TestMariaDBPromotedReplica(t *testing.T) {
	t.Parallel()
	mariaDB(t)
	primary, process := dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1", "binlog-format=MIXED")
	replica, lag := replicaOf(t, primary)
	db, copied := primary.Connect(t), replica.Connect(t)
	run(t, db, onMariaDB(t, quickPatient)...)
	run(t, db, onMariaDB(t, quickWrong, forWrong(neverRaisesMariaDB)...)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, v INT)", quickPatient.MySQLTrigger("rows", "id"))
	// The binary log has the ids, and not the call of the function.
	run(t, db, "SELECT wrong_next()", "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_200")
	const sum = "CAST(SUM(id % 1000003) AS SIGNED) FROM `rows`"
	want := count(t, db, sum)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var got sql.Null[int64]
		err := copied.QueryRow("SELECT " + sum).Scan(&got)
		if err == nil && got.V == want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replica does not have the rows of the primary: %v", err)
		}
	}
	lag()
	both := [2]string{some, strings.ReplaceAll(some, "snowkey", "wrong")}
	before := [2][]int64{query(t, db, both[0]), query(t, db, both[1])}
	live := session(t, db)
	run(t, live, "SET SESSION binlog_format = STATEMENT")
	if _, err := live.ExecContext(t.Context(), "INSERT INTO `rows` (v) VALUES (1)"); err == nil || !strings.Contains(err.Error(), "BINLOG_FORMAT = STATEMENT") {
		t.Errorf("with binlog_format = STATEMENT: %v", err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if after := query(t, copied, both[i]); above(after, before[i]) != want {
			t.Errorf("variant %d: %d to %d follow %d to %d", i, after[0], after[199], before[i][0], before[i][199])
		}
	}
}

// TestMariaDBCrash kills the server right after rows were committed. If the server does not
// flush commits, ids repeat.
func TestMariaDBCrash(t *testing.T) {
	t.Parallel()
	mariaDB(t)
	server, process := dbtest.Killable(t, "mysql", "innodb-flush-log-at-timeout=60")
	db := server.Connect(t)
	db.SetMaxIdleConns(0)
	run(t, db, onMariaDB(t, quickPatient)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0, v INT)", quickPatient.MySQLTrigger("rows", "id"))
	for _, flush := range []int{1, 0} {
		run(t, db, "INSERT INTO `rows` (v) VALUES (1)", fmt.Sprint("SET GLOBAL innodb_flush_log_at_trx_commit = ", flush))
		before := query(t, db, "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_400 RETURNING id")
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		if after := query(t, db, some); above(after, before) != (flush == 1) {
			t.Errorf("innodb_flush_log_at_trx_commit = %d: %d to %d follow %d to %d", flush, after[0], after[199], before[0], before[399])
		}
	}
}

// TestMariaDBClock sets the server's clock back.
func TestMariaDBClock(t *testing.T) {
	t.Parallel()
	mariaDB(t)
	server, _, clock := dbtest.Clocked(t, "mysql")
	db := server.Connect(t)
	run(t, db, onMariaDB(t, quickPatient)...)
	query(t, db, some)
	if err := clock.Set(30 * time.Minute); err != nil {
		t.Fatal(err)
	}
	before := query(t, db, some)
	if err := clock.Set(25 * time.Minute); err != nil {
		t.Fatal(err)
	}
	after := query(t, db, some)
	if !above(after, before) {
		t.Errorf("after the clock went back, %d follows %d", after[0], before[199])
	}
	if err := clock.Set(-2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0) // a session that is open may go on for as long as the clock was right
	_, err := db.ExecContext(t.Context(), "SELECT snowkey_next()")
	if err == nil || !strings.Contains(err.Error(), "ahead of the clock") || !strings.Contains(err.Error(), "55000") {
		t.Errorf("32 minutes back: %v", err)
	}
	if err := clock.Set(30 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if ids := query(t, db, some); !above(ids, append(before, after...)) {
		t.Errorf("%d follows %d", ids[0], after[199])
	}
}

func TestMariaDBRaise(t *testing.T) {
	t.Parallel()
	raiseTogether(t, mariaDB, onMariaDB, 70, 60*time.Millisecond, keepsRaisedMariaDB)
}

func TestMariaDBSnapshot(t *testing.T) {
	t.Parallel()
	oldSnapshot(t, mariaDB, onMariaDB, quick, []string{"LOCK IN SHARE MODE", ""})
}

// TestMariaDBDatabases has one session call the functions of two databases. They have the
// same name, but their own rows and counters.
func TestMariaDBDatabases(t *testing.T) {
	t.Parallel()
	for name, mixed := range map[string]bool{"": false, "AND TRUE": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := mariaDB(t), mariaDB(t)
			var edits []string
			if mixed {
				edits = []string{" AND @`snowkey_next of` = " + sessionOfMariaDB + ",", ",", "@`snowkey_next of` = " + sessionOfMariaDB + " AND LASTVAL", "LASTVAL"}
			}
			first, second := one.Connect(t), two.Connect(t)
			run(t, first, onMariaDB(t, sqlgen.Writer{Worker: 3, MaxClockSkew: 50 * time.Millisecond}, edits...)...)
			run(t, second, onMariaDB(t, sqlgen.Writer{Worker: 3, MaxClockSkew: 50 * time.Millisecond}, edits...)...)
			query(t, second, "SELECT snowkey_next()") // the first call waits
			cfg, err := mysqldriver.ParseDSN(two.DSN)
			if err != nil {
				t.Fatal(err)
			}
			live := session(t, first)
			ids := query(t, live, fmt.Sprintf("SELECT snowkey_next() UNION ALL SELECT %s.snowkey_next() UNION ALL SELECT snowkey_next()", cfg.DBName))
			if continued := ids[1] == ids[0]+1; continued != mixed {
				t.Errorf("the ids are %d", ids)
			}
		})
	}
}

// TestMariaDBCopied copies the variables of a session to another one, as some proxies do.
func TestMariaDBCopied(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string][]string{"": nil, "for any session": {"server_id, CONNECTION_ID())", "server_id)"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mariaDB(t).Connect(t)
			run(t, db, onMariaDB(t, quick, edits...)...)
			first, second := session(t, db), session(t, db)
			query(t, first, "SELECT snowkey_next()") // waits
			ids := query(t, first, "SELECT snowkey_next() FROM seq_1_to_2")
			for _, name := range []string{"of", "id", "end", "until", "limit", "last"} {
				var value sql.RawBytes
				rows, err := first.QueryContext(t.Context(), "SELECT QUOTE(@`snowkey_next "+name+"`)")
				if err != nil {
					t.Fatal(err)
				}
				rows.Next()
				if err := rows.Scan(&value); err != nil {
					t.Fatal(err)
				}
				assignment := fmt.Sprintf("SET @`snowkey_next %s` = %s", name, value)
				if name != "of" {
					assignment = strings.ReplaceAll(assignment, "'", "")
				}
				rows.Close()
				run(t, second, assignment)
			}
			ids = append(ids, query(t, first, "SELECT snowkey_next()")...)
			ids = append(ids, query(t, second, "SELECT snowkey_next()")...)
			if repeated := ids[3] == ids[2]; repeated != (edits != nil) {
				t.Errorf("the ids are %d", ids)
			}
		})
	}
}

// TestMariaDBFirst makes the first ids of a session. They would be rounded if a variable
// without a value were used as a number.
func TestMariaDBFirst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits []string
		exact bool
	}{"": {nil, true}, "without the cast": {[]string{"CAST(@`snowkey_next id` AS SIGNED)", "@`snowkey_next id`"}, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mariaDB(t).Connect(t)
			db.SetMaxIdleConns(0)
			run(t, db, onMariaDB(t, quick, tt.edits...)...)
			exact := true
			for range 10 {
				ids := query(t, db, "SELECT snowkey_next() FROM seq_1_to_2")
				exact = exact && ids[1] == ids[0]+1
			}
			if exact != tt.exact {
				t.Errorf("pairs of ids differ by one: %v", exact)
			}
		})
	}
}

// TestMariaDBSettings makes ids in a session with unusual settings.
func TestMariaDBSettings(t *testing.T) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	run(t, db, onMariaDB(t, quick)...)
	live := session(t, db)
	run(t, live, "SET timestamp = 100", "SET time_zone = '-07:00'", "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ORACLE,NO_AUTO_VALUE_ON_ZERO'", "SET collation_connection = utf8mb4_bin")
	run(t, live, "SET SESSION innodb_snapshot_isolation = ON", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	query(t, db, some)
	recent(t, append(query(t, live, some), query(t, live, some)...))
}

// TestMariaDBRole fills rows as a user that has nothing but INSERT of the table, and calls
// the function as one that has nothing but the privileges of MySQLGrants.
func TestMariaDBRole(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	db := server.Connect(t)
	run(t, db, onMariaDB(t, quick)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, v INT)", sqlgen.Writer{}.MySQLTrigger("rows", "id"))
	user, as := userOf(t, server, db, "INSERT ON `rows`")
	run(t, as, "INSERT INTO `rows` (v) VALUES (1), (2)", "INSERT INTO `rows` VALUES (0, 3), (NULL, 4)")
	forbidden := []string{"INSERT INTO snowkey_next_counter (s) VALUES (1)", "SELECT NEXTVAL(snowkey_next_sessions)", "SELECT * FROM snowkey_lease", "SELECT snowkey_next()"}
	for i, statement := range forbidden {
		if i == 3 {
			if _, err := as.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: allowed without privileges", statement)
			}
			run(t, db, sqlgen.Writer{}.MySQLGrants(user)...)
			run(t, as, statement)
		} else if _, err := as.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "denied") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
