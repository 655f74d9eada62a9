package sqlgen

import (
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

// As in lost_test.go, each test also leaves out the rule that it tests, and then ids must
// repeat or be below earlier ones.

// sessionOfMariaDB is what binds the variables to a session of a database.
const sessionOfMariaDB = "BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID())"

// A mySQLKind is what the tests of MySQL and MariaDB do differently.
type mySQLKind struct {
	mariaDB           bool
	on                statements
	w, patient, wrong sqlgen.Writer
	column            string // the type of the key
	rows              string // FROM 200 rows
	prefix            string // of a query with rows
	drop, all         []string
	kept              int    // ids of a block that a session may go on with after a drop
	locks             string // the read that locks
	dump, client      string // programs

	neverRaises []string // the counter is never raised above what may be lost
	keepsRaised []string // a session uses the number to which it has raised the counter
	noFence     []string // the fence is not read
}

// The first call of a session waits for MaxClockSkew on MariaDB, so it has a short one.
var quick = sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond}

var ofMariaDB = mySQLKind{
	mariaDB: true, on: onMariaDB, w: quick,
	patient: sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond, Window: 10 * time.Minute},
	wrong:   sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond, Window: 10 * time.Minute, Namespace: "wrong", Name: "wrong_next"},
	column:  "BIGINT NOT NULL DEFAULT 0", rows: " FROM seq_1_to_200",
	drop: patient.MariaDBDrop(), all: []string{"DROP TABLE snowkey_next_counter, snowkey_next_history", "DROP SEQUENCE snowkey_next_sessions"},
	kept: 64, locks: "LOCK IN SHARE MODE", dump: "mariadb-dump", client: "mariadb",
	neverRaises: []string{
		"SET known = NOT lowered AND past MOD 1099511627776 = hash;", "SET known = TRUE;",
		"OR @`snowkey_next of` = " + sessionOfMariaDB + " AND v <= @`snowkey_next last` THEN", "AND FALSE THEN",
	},
	keepsRaised: []string{"s = CONNECTION_ID();\n\t\t\tSET v = NULL;", "s = CONNECTION_ID();"},
	noFence:     []string{"GREATEST(l.bound, COALESCE((", "GREATEST(l.bound, 0 * COALESCE(("},
}

var ofMySQL = mySQLKind{
	on: onMySQL, patient: patient, wrong: wrong, column: "BIGINT NOT NULL",
	prefix: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) ", rows: " FROM n",
	drop: patient.MySQLDrop(), all: []string{"DROP TABLE snowkey_next_counter, snowkey_next_history"},
	locks: "FOR SHARE OF l", dump: "mysqldump", client: "mysql",
	neverRaises: []string{"IF past MOD 1099511627776 <> hash THEN", "IF FALSE THEN", "IF v DIV 4096 = 0 OR v <= last THEN", "IF FALSE THEN"},
	keepsRaised: []string{"SET v = NULL;", ""},
	noFence:     []string{"COALESCE((SELECT n.fence FROM", "COALESCE((SELECT 0 * n.fence FROM"},
}

// mySQLServer returns a database of the run's server, which is MySQL or MariaDB.
func mySQLServer(t *testing.T) (dbtest.DB, mySQLKind) {
	t.Helper()
	db := dbtest.MySQL(t)
	if db.MariaDB {
		return db, ofMariaDB
	}
	return db, ofMySQL
}

// some is a query of 200 ids of a function.
func (k mySQLKind) some(name string) string { return k.prefix + "SELECT " + name + "_next()" + k.rows }

// forWrong makes edits of the function snowkey_next fit wrong_next.
func forWrong(edits []string) (same []string) {
	for _, edit := range edits {
		same = append(same, strings.ReplaceAll(edit, "snowkey_next", "wrong_next"))
	}
	return same
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
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestMySQLDropped drops what the function consists of and creates it again, while a
// session stays open that has made ids before.
func TestMySQLDropped(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	all := slices.Concat(k.drop, k.all)
	lowered := []string{"ALTER TABLE snowkey_next_counter AUTO_INCREMENT = 1000000"}
	for _, tt := range []struct {
		name  string
		drop  []string
		edits []string
		above bool
	}{
		{"the function", k.drop, nil, true},
		{"all", all, nil, true},
		{"the counter", []string{"DROP TABLE snowkey_next_counter"}, nil, true},
		{"the counter, truncated", []string{"TRUNCATE TABLE snowkey_next_counter"}, nil, true},
		{"the counter, lowered", lowered, nil, true},
		{"the history", []string{"DROP TABLE snowkey_next_history"}, nil, true},
		{"the sequence", []string{"DROP SEQUENCE IF EXISTS snowkey_next_sessions"}, nil, true},
		{"all, and the counter is not raised", all, k.neverRaises, false},
		{"the counter, lowered, and it is not raised", lowered, k.neverRaises, false},
	} {
		if tt.name == "the sequence" && !k.mariaDB {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.MySQL(t).Connect(t)
			live := session(t, db)
			statements := k.on(t, k.patient, tt.edits...)
			run(t, db, statements...)
			before := query(t, live, k.some("snowkey"))
			if k.mariaDB {
				later(t, db)
			}
			run(t, db, tt.drop...)
			run(t, db, statements...)
			run(t, db, statements...)
			after := query(t, live, k.some("snowkey"))
			if above(after[k.kept:], before) != tt.above {
				t.Errorf("after the drop, %d follows %d", after[k.kept], before[199])
			}
			if other := query(t, db, k.some("snowkey")); tt.above && !above(other, append(before, after...)) {
				t.Errorf("in another session, %d follows %d and %d", other[0], before[199], after[199])
			}
		})
	}
}

// TestMySQLDump restores a dump into the same database, while an idle session stays open
// that has made ids before. It also restores it into another database.
func TestMySQLDump(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	variants := map[string][]string{"": nil, "the counter is not raised": k.neverRaises}
	if k.mariaDB {
		variants["limits of sessions are kept"] = []string{"AND LASTVAL(`snowkey_next_sessions`) IS NOT NULL THEN", "THEN"}
	}
	for name, edits := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := dbtest.MySQL(t)
			db := from.Connect(t)
			live := session(t, db)
			run(t, db, k.on(t, k.patient, edits...)...)
			run(t, db, "CREATE TABLE `rows` (id "+k.column+" PRIMARY KEY, v INT)", k.patient.MySQLTrigger("rows", "id"))
			made := query(t, live, k.some("snowkey"))
			args, port := clientOf(t, from)
			dump := tool(t, nil, k.dump, append(args, "--routines", "--triggers")...)
			made = append(made, query(t, db, k.some("snowkey"))...)
			later(t, db)
			tool(t, dump, k.client, args...)
			again := query(t, live, k.some("snowkey"))
			if above(again[k.kept:], made) != (edits == nil) {
				t.Errorf("after the restore, %d follows %d", again[k.kept], made[len(made)-1])
			}
			if name == "" {
				other := dbtest.MySQL(t)
				args, otherPort := clientOf(t, other)
				if port != otherPort {
					t.Fatal("the databases are on different servers")
				}
				tool(t, dump, k.client, args...)
				db := other.Connect(t)
				run(t, db, "INSERT INTO `rows` (v) VALUES (1)")
				if ids := query(t, db, "SELECT id FROM `rows`"); !above(ids, append(made, again...)) {
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
	cfg, err := mysql.ParseDSN(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(cfg.Addr, ":")
	return []string{"--no-defaults", "--host=" + host, "--port=" + port, "--user=" + cfg.User, "--password=" + cfg.Passwd, cfg.DBName}, port
}

// TestMySQLRaise has sessions pause before they raise the counter to the same tick, one of
// every so many. A session that took the number to which it raised the counter would share
// it.
func TestMySQLRaise(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	every, pause := 30, 25*time.Millisecond
	if k.mariaDB {
		every, pause = 70, 60*time.Millisecond
	}
	const raised = "SET tick = GREATEST(tick, least_tick);"
	together := []string{raised, fmt.Sprintf("DO SLEEP(0.002); SET tick = tick DIV %d * %[1]d; ", every) + raised}
	for name, edits := range map[string][]string{"": nil, "not drawn after it": k.keepsRaised} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.MySQL(t).Connect(t)
			run(t, db, k.on(t, sqlgen.Writer{Window: time.Millisecond, MaxClockSkew: time.Millisecond}, append(together, edits...)...)...)
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

// TestMySQLSnapshot deletes the row while a transaction has an older snapshot. The
// transaction makes no ids after its limit.
func TestMySQLSnapshot(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	for name, edits := range map[string][]string{"": nil, "without a locking read": {k.locks, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.MySQL(t).Connect(t)
			run(t, db, k.on(t, k.w, edits...)...)
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
			cfg, err := mysql.ParseDSN(two.DSN)
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

// TestMySQLFence raises the fence. A new session starts above it.
func TestMySQLFence(t *testing.T) {
	t.Parallel()
	_, k := mySQLServer(t)
	for name, edits := range map[string][]string{"": nil, "not read": k.noFence} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.MySQL(t).Connect(t)
			run(t, db, k.on(t, sqlgen.Writer{}, edits...)...)
			after := 1500 * time.Millisecond // then, the counter is not ahead any more
			if k.mariaDB {
				after = 0
			}
			checkFence(t, db, sqlstore.MySQL(db), after, name == "")
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
	server, k := mySQLServer(t)
	db := server.Connect(t)
	run(t, db, k.on(t, k.w)...)
	live := session(t, db)
	run(t, live, "SET timestamp = 100", "SET time_zone = '-07:00'", "SET collation_connection = utf8mb4_bin")
	if k.mariaDB {
		run(t, live, "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ORACLE,NO_AUTO_VALUE_ON_ZERO', SESSION innodb_snapshot_isolation = ON", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
		query(t, db, k.some("snowkey"))
	} else {
		run(t, live, "SET SESSION auto_increment_increment = 3, SESSION sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'", "SET autocommit = 0")
	}
	recent(t, append(query(t, live, k.some("snowkey")), query(t, live, k.some("snowkey"))...))
	if !k.mariaDB {
		if expiry := query(t, live, "SELECT @@SESSION.information_schema_stats_expiry")[0]; expiry != 86400 {
			t.Errorf("information_schema_stats_expiry is %d afterwards", expiry)
		}
	}
}
