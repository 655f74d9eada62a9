package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
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

// These tests are like those of lost_test.go.

// A mySQLKind is what the tests of MySQL and MariaDB do differently.
type mySQLKind struct {
	mariaDB      bool
	on           statements
	w, patient   sqlgen.Writer
	column       string // the type of the key
	some         string // a query of 200 ids
	drop, all    []string
	kept         int    // ids of a block that a session may go on with after a drop
	dump, client string // programs
}

// The first call of a session waits for MaxClockSkew on MariaDB, so it has a short one.
var quick = sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond}

var ofMariaDB = mySQLKind{
	mariaDB: true, on: onMariaDB, w: quick,
	patient: sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond, Window: 10 * time.Minute},
	column:  "BIGINT NOT NULL DEFAULT 0", some: "SELECT snowkey_next() FROM seq_1_to_200",
	drop: patient.MariaDBDrop(), all: []string{"DROP TABLE snowkey_next_counter, snowkey_next_history", "DROP SEQUENCE snowkey_next_sessions"},
	kept: 64, dump: "mariadb-dump", client: "mariadb",
}

var ofMySQL = mySQLKind{
	on: onMySQL, patient: patient, column: "BIGINT NOT NULL", some: many(200, "snowkey_next()"),
	drop: patient.MySQLDrop(), all: []string{"DROP TABLE snowkey_next_counter, snowkey_next_history"},
	dump: "mysqldump", client: "mysql",
}

// mySQLServer returns a database of the run's server, which is MySQL or MariaDB.
func mySQLServer(t *testing.T) (dbtest.DB, mySQLKind) {
	t.Helper()
	db := dbtest.MySQL(t)
	return db, kindOf(db)
}

func kindOf(db dbtest.DB) mySQLKind {
	if db.MariaDB {
		return ofMariaDB
	}
	return ofMySQL
}

// later waits until tables that are created now have a later time of creation, which the
// server keeps in seconds.
func later(t *testing.T, db *sql.DB) {
	t.Helper()
	for count(t, db, "UNIX_TIMESTAMP(SYSDATE()) > UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease'") == 0 {
		time.Sleep(20 * time.Millisecond)
	}
}

func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn := dbtest.Must(db.Conn(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestMySQLDropped drops what the function consists of and creates it again, while a
// session stays open that has made ids before.
func TestMySQLDropped(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	for name, drop := range map[string][]string{
		"the function":           k.drop,
		"all":                    slices.Concat(k.drop, k.all),
		"the counter":            {"DROP TABLE snowkey_next_counter"},
		"the counter, truncated": {"TRUNCATE TABLE snowkey_next_counter"},
		"the counter, lowered":   {"ALTER TABLE snowkey_next_counter AUTO_INCREMENT = 1000000"},
		"the history":            {"DROP TABLE snowkey_next_history"},
		"the sequence":           {"DROP SEQUENCE IF EXISTS snowkey_next_sessions"},
	} {
		if name == "the sequence" && !k.mariaDB {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.MySQL(t).Connect(t)
			live := session(t, db)
			run(t, db, k.on(t, k.patient)...)
			before := query(t, live, k.some)
			if k.mariaDB {
				later(t, db)
			}
			run(t, db, drop...)
			run(t, db, k.on(t, k.patient)...)
			run(t, db, k.on(t, k.patient)...)
			after := query(t, live, k.some)
			requireAbove(t, after[k.kept:], before)
			requireAbove(t, query(t, db, k.some), append(before, after...))
		})
	}
}

// TestMySQLDump restores a dump into the same database, while an idle session stays open
// that has made ids before. It also restores it into another database.
func TestMySQLDump(t *testing.T) {
	t.Parallel()
	from, k := mySQLServer(t)
	db := from.Connect(t)
	live := session(t, db)
	run(t, db, k.on(t, k.patient)...)
	run(t, db, "CREATE TABLE `rows` (id "+k.column+" PRIMARY KEY, v INT)", k.patient.MySQLTrigger("rows", "id"))
	made := query(t, live, k.some)
	args, port := clientOf(t, from)
	dump := tool(t, nil, k.dump, append(args, "--routines", "--triggers")...)
	made = append(made, query(t, db, k.some)...)
	later(t, db)
	tool(t, dump, k.client, args...)
	again := query(t, live, k.some)
	requireAbove(t, again[k.kept:], made)
	other := dbtest.MySQL(t)
	args, otherPort := clientOf(t, other)
	if port != otherPort {
		t.Fatal("the databases are on different servers")
	}
	tool(t, dump, k.client, args...)
	restored := other.Connect(t)
	run(t, restored, "INSERT INTO `rows` (v) VALUES (1)")
	requireAbove(t, query(t, restored, "SELECT id FROM `rows`"), append(made, again...))
}

// clientOf returns the arguments of the programs of MariaDB or MySQL for a database, and
// the port of the server.
func clientOf(t *testing.T, db dbtest.DB) (args []string, port string) {
	t.Helper()
	cfg := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
	host, port, _ := strings.Cut(cfg.Addr, ":")
	return []string{"--no-defaults", "--host=" + host, "--port=" + port, "--user=" + cfg.User, "--password=" + cfg.Passwd, cfg.DBName}, port
}

// TestMySQLRaise has sessions pause before they raise the counter to the same tick, one of
// every so many. A session that took the number to which it raised the counter would share
// it.
func TestMySQLRaise(t *testing.T) {
	t.Parallel()
	server, k := mySQLServer(t)
	db := server.Connect(t)
	every, pause := 30, 25*time.Millisecond
	if k.mariaDB {
		every, pause = 70, 60*time.Millisecond
	}
	const raised = "SET tick = GREATEST(tick, least_tick);"
	run(t, db, k.on(t, sqlgen.Writer{Window: time.Millisecond, MaxClockSkew: time.Millisecond},
		raised, fmt.Sprintf("DO SLEEP(0.002); SET tick = tick DIV %d * %[1]d; ", every)+raised)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT)")
	var wait sync.WaitGroup
	for range 8 {
		conn := session(t, db)
		wait.Go(func() {
			for range 10 {
				if _, err := conn.ExecContext(t.Context(), "INSERT INTO `rows` VALUES (snowkey_next())"); err != nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
		})
	}
	wait.Wait()
	if all, different := countIDs(t, db, "`rows`"); all != 80 || different != 80 {
		t.Errorf("%d rows have %d different ids", all, different)
	}
}

// TestMySQLWaits has two open transactions raise the counter to the same value. With
// the same key, the second one would wait for the first one's COMMIT.
func TestMySQLWaits(t *testing.T) {
	t.Parallel()
	db := mySQL(t).Connect(t)
	run(t, db, onMySQL(t, sqlgen.Writer{}, "DECLARE problem TEXT;", "DECLARE problem TEXT; DECLARE raising BOOLEAN DEFAULT TRUE;",
		"IF v DIV 4096 < tick THEN", "IF raising THEN SET raising = FALSE, tick = 1;")...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL PRIMARY KEY, v INT)", sqlgen.Writer{}.MySQLTrigger("rows", "id"), "INSERT INTO `rows` (v) VALUES (0)")
	for range 2 {
		tx := dbtest.Must(db.BeginTx(t.Context(), nil))(t)
		defer tx.Rollback()
		run(t, tx, "SET SESSION innodb_lock_wait_timeout = 1", "INSERT INTO `rows` (v) VALUES (1)")
	}
}

// reservationGone checks that a session refuses to make ids after the row was deleted.
func reservationGone(t *testing.T, db *sql.DB, session interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}) {
	t.Helper()
	run(t, db, "DELETE FROM snowkey_lease WHERE worker = 1023")
	_, err := session.ExecContext(t.Context(), "SELECT snowkey_next()")
	// With innodb_snapshot_isolation, which is the default of MariaDB 11.8, the server refuses the read.
	if err == nil || !strings.Contains(err.Error(), "is not reserved for SQL") && !strings.Contains(err.Error(), "Error 1020 ") {
		t.Errorf("without the row: %v", err)
	}
}

// TestMySQLSnapshot deletes the row while a transaction has an older snapshot. The
// transaction makes no ids after its limit.
func TestMySQLSnapshot(t *testing.T) {
	t.Parallel()
	server, k := mySQLServer(t)
	db := server.Connect(t)
	run(t, db, k.on(t, k.w)...)
	tx := dbtest.Must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead}))(t)
	defer tx.Rollback()
	query(t, tx, "SELECT COUNT(*) FROM snowkey_lease")
	reservationGone(t, db, tx)
}

// TestMySQLCopied copies the variables of one session to another, as proxies do. They are
// only valid in the session that has set them: neither the rest of its block, nor its
// limit.
func TestMySQLCopied(t *testing.T) {
	t.Parallel()
	server, k := mySQLServer(t)
	db := server.Connect(t)
	run(t, db, k.on(t, k.patient)...)
	first, second := session(t, db), session(t, db)
	query(t, first, "SELECT snowkey_next()") // waits on MariaDB
	query(t, first, "SELECT snowkey_next()")
	for _, name := range []string{"of", "id", "end", "until", "limit", "last"} {
		value := column[string](t, first, "SELECT QUOTE(@`snowkey_next "+name+"`)")[0] // MySQL uses some of them
		if name != "of" {
			value = strings.Trim(value, "'")
		}
		run(t, second, fmt.Sprintf("SET @`snowkey_next %s` = %s", name, value))
	}
	if !k.mariaDB {
		reservationGone(t, db, second)
	} else if a, b := query(t, first, "SELECT snowkey_next()"), query(t, second, "SELECT snowkey_next()"); a[0] == b[0] {
		t.Errorf("%d was made in both sessions", a[0])
	}
}

// TestMariaDBDatabases has one session call the functions of two databases. They have the
// same name, but their own rows and counters.
func TestMariaDBDatabases(t *testing.T) {
	t.Parallel()
	one, two := mariaDB(t), mariaDB(t)
	first, second := one.Connect(t), two.Connect(t)
	w := sqlgen.Writer{Worker: 3, MaxClockSkew: 50 * time.Millisecond}
	run(t, first, onMariaDB(t, w)...)
	run(t, second, onMariaDB(t, w)...)
	query(t, second, "SELECT snowkey_next()") // the first call waits
	other := column[string](t, second, "SELECT DATABASE()")[0]
	ids := query(t, first, fmt.Sprintf("SELECT snowkey_next() UNION ALL SELECT %s.snowkey_next() UNION ALL SELECT snowkey_next()", other))
	if ids[1] == ids[0]+1 {
		t.Errorf("the ids are %d", ids)
	}
}

// TestMariaDBFirst makes the first ids of a session. They would be rounded if a variable
// without a value were used as a number.
func TestMariaDBFirst(t *testing.T) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	db.SetMaxIdleConns(0)
	run(t, db, onMariaDB(t, quick)...)
	for range 10 {
		if ids := query(t, db, "SELECT snowkey_next() FROM seq_1_to_2"); ids[1] != ids[0]+1 {
			t.Errorf("%d do not differ by one", ids)
		}
	}
}

// TestMySQLFence raises the fence. A new session starts above it.
func TestMySQLFence(t *testing.T) {
	t.Parallel()
	server, k := mySQLServer(t)
	db := server.Connect(t)
	run(t, db, k.on(t, sqlgen.Writer{})...)
	after := 1500 * time.Millisecond // then, the counter is not ahead any more
	if k.mariaDB {
		after = 0
	}
	checkFence(t, db, sqlstore.MySQL(db), after)
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
	server, k := mySQLServer(t)
	db := server.Connect(t)
	run(t, db, k.on(t, k.w)...)
	live := session(t, db)
	run(t, live, "SET timestamp = 100", "SET time_zone = '-07:00'", "SET collation_connection = utf8mb4_bin")
	if k.mariaDB {
		run(t, live, "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ORACLE,NO_AUTO_VALUE_ON_ZERO', SESSION innodb_snapshot_isolation = ON", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
		query(t, db, k.some)
	} else {
		run(t, live, "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'", "SET autocommit = 0")
	}
	recent(t, append(query(t, live, k.some), query(t, live, k.some)...))
	if !k.mariaDB {
		if expiry := query(t, live, "SELECT @@SESSION.information_schema_stats_expiry")[0]; expiry != 86400 {
			t.Errorf("information_schema_stats_expiry is %d afterwards", expiry)
		}
	}
}
