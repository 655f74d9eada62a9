package sqlgen

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// As in lost_test.go, each test also leaves out the rule that it tests, and then ids must
// repeat or be below earlier ones.

var (
	// The counter is never raised above what may be lost.
	neverRaisesMySQL = []string{"IF past MOD 1099511627776 <> hash THEN", "IF FALSE THEN", "IF v DIV 4096 = 0 OR v <= last THEN", "IF FALSE THEN"}

	// A session takes the number to which it has raised the counter.
	keepsRaisedMySQL = []string{"SET v = NULL;", ""}

	of200 = many(200, "snowkey_next()")
)

// forWrong makes edits of the function snowkey_next fit wrong_next.
func forWrong(edits []string) (same []string) {
	for _, edit := range edits {
		same = append(same, strings.ReplaceAll(edit, "snowkey_next", "wrong_next"))
	}
	return same
}

// TestMySQLDropped drops what the function consists of and creates it again, while a
// session stays open that has made ids before.
func TestMySQLDropped(t *testing.T) {
	t.Parallel()
	all := append(patient.MySQLDrop(), "DROP TABLE snowkey_next_counter, snowkey_next_history")
	lowered := []string{"ALTER TABLE snowkey_next_counter AUTO_INCREMENT = 1000000"}
	for _, tt := range []struct {
		name  string
		drop  []string
		edits []string
		above bool
	}{
		{"the function", patient.MySQLDrop(), nil, true},
		{"all", all, nil, true},
		{"the counter", []string{"DROP TABLE snowkey_next_counter"}, nil, true},
		{"the counter, truncated", []string{"TRUNCATE TABLE snowkey_next_counter"}, nil, true},
		{"the counter, lowered", lowered, nil, true},
		{"the history", []string{"DROP TABLE snowkey_next_history"}, nil, true},
		{"all, and the counter is not raised", all, neverRaisesMySQL, false},
		{"the counter, lowered, and it is not raised", lowered, neverRaisesMySQL, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := mySQL(t).Connect(t)
			live := session(t, db)
			statements := onMySQL(t, patient, tt.edits...)
			run(t, db, statements...)
			before := query(t, live, of200)
			run(t, db, tt.drop...)
			run(t, db, statements...)
			run(t, db, statements...)
			after := query(t, live, of200)
			if above(after, before) != tt.above {
				t.Errorf("after the drop, %d follows %d", after[0], before[199])
			}
			if other := query(t, db, of200); tt.above && !above(other, append(before, after...)) {
				t.Errorf("in another session, %d follows %d and %d", other[0], before[199], after[199])
			}
		})
	}
}

// TestMySQLDump restores a dump into the same database, and into another one.
func TestMySQLDump(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string][]string{"": nil, "the counter is not raised": neverRaisesMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := mySQL(t)
			db := from.Connect(t)
			db.SetMaxIdleConns(0)
			run(t, db, onMySQL(t, patient, edits...)...)
			run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL PRIMARY KEY, v INT)", patient.MySQLTrigger("rows", "id"))
			made := query(t, db, of200)
			args, _ := clientOf(t, from)
			dump := tool(t, nil, "mysqldump", append(args, "--routines", "--triggers")...)
			made = append(made, query(t, db, of200)...)
			later(t, db)
			tool(t, dump, "mysql", args...)
			again := query(t, db, of200)
			if above(again, made) != (name == "") {
				t.Errorf("after the restore, %d follows %d", again[0], made[len(made)-1])
			}
			if name == "" {
				other := mySQL(t)
				args, _ := clientOf(t, other)
				tool(t, dump, "mysql", args...)
				db := other.Connect(t)
				run(t, db, "INSERT INTO `rows` (v) VALUES (1)")
				if ids := query(t, db, "SELECT id FROM `rows`"); !above(ids, append(made, again...)) {
					t.Errorf("in another database, %d follows %d", ids[0], again[len(again)-1])
				}
			}
		})
	}
}

// TestMySQLPromotedReplica kills a server whose replica lacks the last ids, and goes on
// with the replica.
func TestMySQLPromotedReplica(t *testing.T) {
	t.Parallel()
	mySQL(t)
	primary, process := dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1")
	replica, _ := dbtest.Killable(t, "mysql", "server-id=2")
	cfg, err := mysql.ParseDSN(primary.DSN)
	if err != nil {
		t.Fatal(err)
	}
	_, port := clientOf(t, primary)
	db, admin := primary.Connect(t), replica.Connect(t)
	run(t, admin, fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %s, SOURCE_USER = '%s', SOURCE_PASSWORD = '%s', GET_SOURCE_PUBLIC_KEY = 1", port, cfg.User, cfg.Passwd), "START REPLICA")
	run(t, db, onMySQL(t, patient)...)
	run(t, db, onMySQL(t, wrong, forWrong(neverRaisesMySQL)...)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL PRIMARY KEY, v INT)", patient.MySQLTrigger("rows", "id"))
	run(t, db, "SELECT wrong_next()", "INSERT INTO `rows` (v) "+many(200, "i"))
	const sum = "CAST(SUM(id % 1000003) AS SIGNED) FROM "
	want := count(t, db, sum+"`rows`")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var got sql.Null[int64]
		err := admin.QueryRow("SELECT " + sum + cfg.DBName + ".`rows`").Scan(&got)
		if err == nil && got.V == want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replica does not have the rows of the primary: %v", err)
		}
	}
	run(t, admin, "STOP REPLICA")
	both := [2]string{of200, strings.ReplaceAll(of200, "snowkey", "wrong")}
	before := [2][]int64{query(t, db, both[0]), query(t, db, both[1])}
	live := session(t, db)
	run(t, live, "SET SESSION binlog_format = STATEMENT")
	if _, err := live.ExecContext(t.Context(), "INSERT INTO `rows` (v) VALUES (1)"); err == nil || !strings.Contains(err.Error(), "binlog_format = STATEMENT") {
		t.Errorf("with binlog_format = STATEMENT: %v", err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	copied, err := mysql.ParseDSN(replica.DSN)
	if err != nil {
		t.Fatal(err)
	}
	copied.DBName = cfg.DBName
	replica.DSN = copied.FormatDSN()
	db = replica.Connect(t)
	for i, want := range []bool{true, false} {
		if after := query(t, db, both[i]); above(after, before[i]) != want {
			t.Errorf("variant %d: %d to %d follow %d to %d", i, after[0], after[199], before[i][0], before[i][199])
		}
	}
}

// TestMySQLCrash kills the server right after rows were committed, while another
// transaction is open. The variant has a counter that is not in the server's log.
func TestMySQLCrash(t *testing.T) {
	t.Parallel()
	mySQL(t)
	server, process := dbtest.Killable(t, "mysql", "innodb-flush-log-at-trx-commit=1")
	db := server.Connect(t)
	db.SetMaxIdleConns(0)
	run(t, db, onMySQL(t, patient)...)
	run(t, db, onMySQL(t, wrong, forWrong(append([]string{"PRIMARY KEY (c, s)) ENGINE = InnoDB", "PRIMARY KEY (c, s)) ENGINE = MEMORY"}, neverRaisesMySQL...))...)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL PRIMARY KEY, v INT)", "CREATE TABLE wrong_rows (id BIGINT NOT NULL PRIMARY KEY, v INT)",
		patient.MySQLTrigger("rows", "id"), wrong.MySQLTrigger("wrong_rows", "id"))
	for i, table := range []string{"`rows`", "`rows`", "wrong_rows"} {
		open, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		run(t, open, "INSERT INTO "+table+" (v) "+many(40, "i"))
		run(t, db, "INSERT INTO "+table+" (v) "+many(400, "i"))
		before := query(t, db, "SELECT id FROM "+table)
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = open.Rollback() // ignore the error, because the connection is lost
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		next, want := of200, true
		if table == "wrong_rows" {
			next, want = strings.ReplaceAll(of200, "snowkey", "wrong"), false
		}
		if after := query(t, db, next); above(after, before) != want {
			t.Errorf("crash %d: %d to %d follow up to %d", i, after[0], after[199], before[len(before)-1])
		}
	}
}

// TestMySQLClock sets the server's clock back.
func TestMySQLClock(t *testing.T) {
	t.Parallel()
	mySQL(t)
	server, _, clock := dbtest.Clocked(t, "mysql")
	db := server.Connect(t)
	run(t, db, onMySQL(t, patient)...)
	// The counter follows the clock back.
	run(t, db, onMySQL(t, wrong, forWrong(append([]string{"IF v DIV 4096 < tick THEN", "IF v DIV 4096 <> tick THEN",
		"INSERT INTO `snowkey_next_counter` (c, s) VALUES (v, CONNECTION_ID());", "", "SET v = NULL;", ""}, neverRaisesMySQL...))...)...)
	both := [2]string{of200, strings.ReplaceAll(of200, "snowkey", "wrong")}
	query(t, db, both[0])
	if err := clock.Set(30 * time.Minute); err != nil {
		t.Fatal(err)
	}
	before := query(t, db, both[0])
	ahead := query(t, db, "SELECT wrong_next()")
	if err := clock.Set(25 * time.Minute); err != nil {
		t.Fatal(err)
	}
	after := query(t, db, both[0])
	if !above(after, before) {
		t.Errorf("after the clock went back, %d follows %d", after[0], before[199])
	}
	if ids := query(t, db, "SELECT wrong_next()"); above(ids, ahead) {
		t.Errorf("a counter that follows the clock back made %d after %d", ids[0], ahead[0])
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
	if ids := query(t, db, of200); !above(ids, append(before, after...)) {
		t.Errorf("%d follows %d", ids[0], after[199])
	}
}

func TestMySQLRaise(t *testing.T) {
	t.Parallel()
	raiseTogether(t, mySQL, onMySQL, 30, 25*time.Millisecond, keepsRaisedMySQL)
}

// raiseTogether has sessions pause before they raise the counter to the same tick, one of
// every so many. A session that took the number to which it raised the counter would share
// it. The edits make sessions do that.
func raiseTogether(t *testing.T, server func(*testing.T) dbtest.DB, on statements, every int, pause time.Duration, edits []string) {
	const raised = "SET tick = GREATEST(tick, least_tick);"
	together := []string{raised, fmt.Sprintf("DO SLEEP(0.002); SET tick = tick DIV %d * %[1]d; ", every) + raised}
	for name, edits := range map[string][]string{"": nil, "not drawn after it": edits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := server(t).Connect(t)
			run(t, db, on(t, sqlgen.Writer{Window: time.Millisecond, MaxClockSkew: time.Millisecond}, append(together, edits...)...)...)
			run(t, db, "CREATE TABLE `rows` (id BIGINT)")
			round := func() (all, different int64) {
				var wait sync.WaitGroup
				for range 8 {
					wait.Go(func() {
						conn, err := db.Conn(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						defer conn.Close()
						for range 10 {
							if _, err := conn.ExecContext(t.Context(), "INSERT INTO `rows` VALUES (snowkey_next())"); err != nil {
								t.Error(err)
							}
							time.Sleep(pause)
						}
					})
				}
				wait.Wait()
				return countIDs(t, db, "`rows`")
			}
			all, different := round()
			want := int64(80)
			for edits != nil && all == different && want < 20*80 { // the sessions may happen not to meet
				all, different = round()
				want += 80
			}
			if all != want || all > different != (edits != nil) {
				t.Errorf("%d rows have %d different ids", all, different)
			}
		})
	}
}

// TestMySQLWaits has two open transactions raise the counter to the same value. With
// the same key, the second one would wait for the first one's COMMIT.
func TestMySQLWaits(t *testing.T) {
	t.Parallel()
	raise := []string{"DECLARE problem TEXT;", "DECLARE problem TEXT; DECLARE raising BOOLEAN DEFAULT TRUE;",
		"IF v DIV 4096 < tick THEN", "IF raising THEN SET raising = FALSE, tick = 1;"}
	for name, tt := range map[string]struct {
		edits []string
		waits bool
	}{
		"":         {raise, false},
		"same key": {append(raise, "VALUES (v, CONNECTION_ID())", "VALUES (v, 0)", "c = v AND s = CONNECTION_ID()", "c = v"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mySQL(t).Connect(t)
			run(t, db, onMySQL(t, sqlgen.Writer{}, tt.edits...)...)
			run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL PRIMARY KEY, v INT)", sqlgen.Writer{}.MySQLTrigger("rows", "id"), "INSERT INTO `rows` (v) VALUES (0)")
			first, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Rollback()
			run(t, first, "INSERT INTO `rows` (v) VALUES (1)")
			second, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer second.Rollback()
			run(t, second, "SET SESSION innodb_lock_wait_timeout = 1")
			_, err = second.ExecContext(t.Context(), "INSERT INTO `rows` (v) VALUES (2)")
			if waits := err != nil && strings.Contains(err.Error(), "1205"); waits != tt.waits || err != nil && !waits {
				t.Errorf("with an open transaction: %v", err)
			}
		})
	}
}

func TestMySQLSnapshot(t *testing.T) {
	t.Parallel()
	oldSnapshot(t, mySQL, onMySQL, sqlgen.Writer{}, []string{"FOR SHARE OF l", ""})
}

// oldSnapshot deletes the row while a transaction has an older snapshot. The transaction
// makes no ids after its limit, unless the edits leave out the lock of the read.
func oldSnapshot(t *testing.T, server func(*testing.T) dbtest.DB, on statements, w sqlgen.Writer, edits []string) {
	for name, edits := range map[string][]string{"": nil, "without a locking read": edits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := server(t).Connect(t)
			run(t, db, on(t, w, edits...)...)
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			query(t, tx, "SELECT COUNT(*) FROM snowkey_lease")
			run(t, db, "DELETE FROM snowkey_lease WHERE worker = 1023")
			_, err = tx.ExecContext(t.Context(), "SELECT snowkey_next()")
			// With innodb_snapshot_isolation, which is the default of MariaDB 11.8, the server refuses the read.
			if refused := err != nil && (strings.Contains(err.Error(), "is not reserved for SQL") || strings.Contains(err.Error(), "Error 1020 ")); refused != (edits == nil) {
				t.Errorf("without the row: %v", err)
			}
		})
	}
}

// TestMySQLCopied copies the variables of one session to another, as proxies do. The
// limit in them is only valid in the session that found it.
func TestMySQLCopied(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits   []string
		refused bool
	}{"": {nil, true}, "variables are trusted": {[]string{"IF CAST(@`snowkey_next of` AS BINARY) = me THEN", "IF TRUE THEN"}, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mySQL(t).Connect(t)
			run(t, db, onMySQL(t, patient, tt.edits...)...)
			first, second := session(t, db), session(t, db)
			query(t, first, "SELECT snowkey_next()")
			var of []byte
			var limit, last int64
			if err := first.QueryRowContext(t.Context(), "SELECT @`snowkey_next of`, @`snowkey_next limit`, @`snowkey_next last`").Scan(&of, &limit, &last); err != nil {
				t.Fatal(err)
			}
			run(t, second, fmt.Sprintf("SET @`snowkey_next of` = '%s', @`snowkey_next limit` = %d, @`snowkey_next last` = %d", of, limit, last))
			run(t, db, "DELETE FROM snowkey_lease WHERE worker = 1023")
			_, err := second.ExecContext(t.Context(), "SELECT snowkey_next()")
			if refused := err != nil && strings.Contains(err.Error(), "is not reserved for SQL"); refused != tt.refused {
				t.Errorf("with the variables of another session: %v", err)
			}
		})
	}
}

// TestMySQLFence raises the fence. A new session starts above it.
func TestMySQLFence(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string][]string{"": nil, "not read": {"COALESCE((SELECT n.fence FROM", "COALESCE((SELECT 0 * n.fence FROM"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mySQL(t).Connect(t)
			run(t, db, onMySQL(t, sqlgen.Writer{}, edits...)...)
			// After 1.5 s, the counter is not ahead any more.
			checkFence(t, db, sqlstore.MySQL(db), 1500*time.Millisecond, name == "")
		})
	}
}

// recent checks that ids are different, and were made less than 20 s ago.
func recent(t *testing.T, ids []int64) {
	t.Helper()
	seen := make(map[int64]bool)
	for _, id := range ids {
		at := idgen.DefaultLayout().Decode(id).Time
		if seen[id] || time.Since(at).Abs() > 20*time.Second {
			t.Errorf("%d has the time %v, or was made twice", id, at)
		}
		seen[id] = true
	}
}

// TestMySQLSettings makes ids in a session with unusual settings.
func TestMySQLSettings(t *testing.T) {
	t.Parallel()
	db := mySQL(t).Connect(t)
	run(t, db, onMySQL(t, sqlgen.Writer{})...)
	live := session(t, db)
	run(t, live, "SET timestamp = 100", "SET time_zone = '-07:00'", "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'",
		"SET collation_connection = utf8mb4_bin", "SET autocommit = 0")
	recent(t, append(query(t, live, of200), query(t, live, of200)...))
	if expiry := query(t, live, "SELECT @@SESSION.information_schema_stats_expiry")[0]; expiry != 86400 {
		t.Errorf("information_schema_stats_expiry is %d afterwards", expiry)
	}
}
