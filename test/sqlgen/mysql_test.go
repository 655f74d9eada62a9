package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn := dbtest.Must(db.Conn(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
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
	dbtest.Exec(t, db, k.on(t, sqlgen.Writer{Window: time.Millisecond, MaxClockSkew: time.Millisecond},
		raised, fmt.Sprintf("DO SLEEP(0.002); SET tick = tick DIV %d * %[1]d; ", every)+raised)...)
	dbtest.Exec(t, db, "CREATE TABLE `rows` (id BIGINT)")
	together(t, db, "INSERT INTO `rows` VALUES (snowkey_next())", pause)
	if all, different := countIDs(t, db, "`rows`"); all != 80 || different != 80 {
		t.Errorf("%d rows have %d different ids", all, different)
	}
}

// TestMySQLWaits has two open transactions raise the counter to the same value. With
// the same key, the second one would wait for the first one's COMMIT.
func TestMySQLWaits(t *testing.T) {
	t.Parallel()
	db := ofMySQL.open(t).Connect(t)
	dbtest.Exec(t, db, ofMySQL.on(t, sqlgen.Writer{}, "DECLARE problem TEXT;", "DECLARE problem TEXT; DECLARE raising BOOLEAN DEFAULT TRUE;",
		"IF v DIV 4096 < tick THEN", "IF raising THEN SET raising = FALSE, tick = 1;")...)
	dbtest.Exec(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL PRIMARY KEY, v INT)", trigger("rows"), "INSERT INTO `rows` (v) VALUES (0)")
	for range 2 {
		tx := dbtest.Must(db.BeginTx(t.Context(), nil))(t)
		defer tx.Rollback()
		dbtest.Exec(t, tx, "SET SESSION innodb_lock_wait_timeout = 1", "INSERT INTO `rows` (v) VALUES (1)")
	}
}

// reservationGone checks that a session refuses to make ids after the row was deleted.
func reservationGone(t *testing.T, db *sql.DB, session interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}) {
	t.Helper()
	dbtest.Exec(t, db, "DELETE FROM snowkey_lease WHERE worker = 1023")
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
	dbtest.Exec(t, db, k.on(t, k.w)...)
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
	dbtest.Exec(t, db, k.on(t, k.patient)...)
	first, second := session(t, db), session(t, db)
	query(t, first, "SELECT snowkey_next()") // waits on MariaDB
	query(t, first, "SELECT snowkey_next()")
	for _, name := range []string{"of", "id", "end", "until", "limit", "last"} {
		value := column[string](t, first, "SELECT QUOTE(@`snowkey_next "+name+"`)")[0] // MySQL uses some of them
		if name != "of" {
			value = strings.Trim(value, "'")
		}
		dbtest.Exec(t, second, fmt.Sprintf("SET @`snowkey_next %s` = %s", name, value))
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
	one, two := ofMariaDB.open(t), ofMariaDB.open(t)
	first, second := one.Connect(t), two.Connect(t)
	w := sqlgen.Writer{Worker: 3, MaxClockSkew: 50 * time.Millisecond}
	dbtest.Exec(t, first, ofMariaDB.on(t, w)...)
	dbtest.Exec(t, second, ofMariaDB.on(t, w)...)
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
	db := ofMariaDB.open(t).Connect(t)
	db.SetMaxIdleConns(0)
	dbtest.Exec(t, db, ofMariaDB.on(t, quick)...)
	for range 10 {
		if ids := query(t, db, "SELECT snowkey_next() FROM seq_1_to_2"); ids[1] != ids[0]+1 {
			t.Errorf("%d do not differ by one", ids)
		}
	}
}

// TestMySQLSettings makes ids in a session with unusual settings.
func TestMySQLSettings(t *testing.T) {
	t.Parallel()
	server, k := mySQLServer(t)
	db := server.Connect(t)
	dbtest.Exec(t, db, k.on(t, k.w)...)
	live := session(t, db)
	dbtest.Exec(t, live, "SET timestamp = 100", "SET time_zone = '-07:00'", "SET collation_connection = utf8mb4_bin")
	if k.mariaDB {
		dbtest.Exec(t, live, "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ORACLE,NO_AUTO_VALUE_ON_ZERO', SESSION innodb_snapshot_isolation = ON", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
		query(t, db, k.some)
	} else {
		dbtest.Exec(t, live, "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'", "SET autocommit = 0")
	}
	seen := make(map[int64]bool)
	for _, id := range append(query(t, live, k.some), query(t, live, k.some)...) {
		at := idgen.DefaultLayout().Decode(id).Time
		if seen[id] || time.Since(at).Abs() > 20*time.Second {
			t.Errorf("%d has the time %v, or was made twice", id, at)
		}
		seen[id] = true
	}
	if !k.mariaDB {
		if expiry := query(t, live, "SELECT @@SESSION.information_schema_stats_expiry")[0]; expiry != 86400 {
			t.Errorf("information_schema_stats_expiry is %d afterwards", expiry)
		}
	}
}
