package hostile

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// An outcome is what a setting makes happen to the programs.
type outcome int

const (
	works          outcome = iota // both programs get ids
	refused                       // Open fails immediately, and names the setting
	worksOrRefused                // either of these
)

// A row is a setting, along with the outcome that we expect.
type row struct {
	name    string
	session session
	ofB     *session // the session of program B, if it's another one
	space   string   // the namespace; empty for the default
	app     func(context.Context, *sql.DB) error
	exist   bool // create tables, namespace and row first, with an ordinary session
	want    outcome
	names   string // part of the error if it's refused; case is ignored
	only    string // "mysql" or "mariadb" if the other doesn't have this setting
}

// test lets two programs share a worker number under the setting.
func (r row) test(t *testing.T, server dbtest.DB) {
	if r.only == "mariadb" && !server.MariaDB || r.only == "mysql" && server.MariaDB {
		t.Skipf("%s does not have this setting", server.Version)
	}
	db := newDatabase(t, server)
	if r.exist {
		prepare(t, db)
	}
	issue := 2 * time.Second
	if long() {
		issue = 4500 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // much longer than needed, even on a busy machine
	defer cancel()
	var wg sync.WaitGroup
	var programs []*program
	for _, name := range []string{"A", "B"} {
		s := r.session
		if name == "B" && r.ofB != nil {
			s = *r.ofB
		}
		p := &program{name: name, dialect: server.Dialect, db: s.connect(t, db), app: r.app, namespace: r.space}
		programs = append(programs, p)
		wg.Go(func() { p.run(ctx, t, issue) })
	}
	wg.Wait()
	check(t, programs...)
	for _, p := range programs {
		r.judge(t, p)
	}
}

// prepare lets an ordinary program create the tables, the namespace and the row. The
// program then releases the row.
func prepare(t *testing.T, db dbtest.DB) {
	t.Helper()
	p := &program{name: "ordinary", dialect: db.Dialect, db: db.Connect(t)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if p.run(ctx, t, time.Millisecond); p.err != nil {
		t.Fatal(p.err)
	}
}

// judge checks that a program worked or was refused, depending on what the row expects.
func (r row) judge(t *testing.T, p *program) {
	t.Helper()
	issued := p.issued()
	switch {
	case p.err == nil && issued > 0:
		if r.want == refused {
			t.Errorf("program %s issued %d ids, want a refusal that names %s", p.name, issued, r.names)
		}
	case p.err == nil:
		t.Errorf("program %s: Open succeeded, but no id was issued", p.name)
	case r.want == works:
		t.Errorf("program %s: Open failed after %v: %v", p.name, p.opened.Round(time.Millisecond), p.err)
	case !strings.Contains(strings.ToLower(p.err.Error()), strings.ToLower(r.names)):
		t.Errorf("program %s: the refusal does not name %s: %v", p.name, r.names, p.err)
	case isTimeout(p.err) || p.opened > atOnce:
		t.Errorf("program %s: Open was refused after %v, want at most %v: %v", p.name, p.opened.Round(time.Millisecond), atOnce, p.err)
	default:
		t.Logf("program %s: refused after %v: %v", p.name, p.opened.Round(time.Millisecond), p.err)
	}
}

// durable returns a server that flushes every commit and can be shared by programs.
// This is the server named by the environment if that one does, and otherwise a private
// server.
func durable(t *testing.T, dialect string) dbtest.DB {
	t.Helper()
	wants(t, dialect)
	if os.Getenv("SNOWKEY_TEST_"+strings.ToUpper(dialect)) != "" {
		db := dbtest.Open(t, dialect)
		if flushes(t, db) {
			return db
		}
	}
	return dbtest.Durable(t, dialect)
}

// flushes reports whether a server flushes its log for every commit.
func flushes(t *testing.T, db dbtest.DB) (yes bool) {
	t.Helper()
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	query := "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'"
	if db.Dialect == "mysql" {
		query = "SELECT @@innodb_flush_log_at_trx_commit IN (1, 3) AND (@@log_bin = 0 OR @@sync_binlog = 1)"
	}
	if err := conn.QueryRow(query).Scan(&yes); err != nil {
		t.Fatal(err)
	}
	return yes
}

// newDatabase creates another database on a server, so that tests aren't delayed by
// each other's locks. It is dropped when the test ends.
func newDatabase(t *testing.T, server dbtest.DB) dbtest.DB {
	t.Helper()
	if server.Dialect == "sqlite" {
		return dbtest.SQLite(t)
	}
	name := "hostile_" + strings.ToLower(rand.Text()[:12])
	execAll(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		if server.Dialect == "postgres" {
			execAll(t, server, "DROP DATABASE "+name+" WITH (FORCE)")
		} else {
			execAll(t, server, "DROP DATABASE "+name)
		}
	})
	db := server
	dsn, err := changeDSN(db, func(u *url.URL) { u.Path = "/" + name }, func(cfg *mysqldriver.Config) error {
		cfg.DBName = name
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	db.DSN = dsn
	return db
}

// execAll runs statements on a new connection, which also works during cleanup.
func execAll(t *testing.T, db dbtest.DB, statements ...string) {
	t.Helper()
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range statements {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// withParams returns the DSN of db with additional parameters.
func withParams(db dbtest.DB, params map[string]string) (string, error) {
	if len(params) == 0 {
		return db.DSN, nil
	}
	return changeDSN(db, func(u *url.URL) {
		query := u.Query()
		for name, value := range params {
			query.Set(name, value)
		}
		u.RawQuery = query.Encode()
	}, func(cfg *mysqldriver.Config) error {
		for name, value := range params {
			switch name {
			case "clientFoundRows":
				cfg.ClientFoundRows = value == "true"
			case "interpolateParams":
				cfg.InterpolateParams = value == "true"
			default:
				return fmt.Errorf("no parameter %s of a MySQL DSN is known here", name)
			}
		}
		return nil
	})
}

func changeDSN(db dbtest.DB, postgres func(*url.URL), mysql func(*mysqldriver.Config) error) (string, error) {
	if db.Dialect == "postgres" {
		u, err := url.Parse(db.DSN)
		if err != nil {
			return "", fmt.Errorf("the DSN of Postgres is not a URL, which these tests need")
		}
		postgres(u)
		return u.String(), nil
	}
	cfg, err := mysqldriver.ParseDSN(db.DSN)
	if err != nil {
		return "", err
	}
	if err := mysql(cfg); err != nil {
		return "", err
	}
	return cfg.FormatDSN(), nil
}

// oneTransaction is an application that runs a transaction.
func oneTransaction(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var one int
	if err := tx.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return err
	}
	return tx.Commit()
}

// leavesOpen is an application that uses a statement to begin a transaction, but never
// ends it. The connection pool doesn't know that, and hands the connection to the next
// user.
func leavesOpen(begin string) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, begin)
		return err
	}
}

// leavesXA is an application that begins a distributed transaction but never ends it.
func leavesXA(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "XA START '"+rand.Text()+"'")
	return err
}

// locksTable is an application that locks one of its own tables and keeps it locked.
func locksTable(ctx context.Context, db *sql.DB) error {
	table := "of_the_application_" + strings.ToLower(rand.Text()[:6])
	if _, err := db.ExecContext(ctx, "CREATE TABLE "+table+" (n INT)"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "LOCK TABLES "+table+" WRITE")
	return err
}

// TestSessionsMySQL lets two programs share a worker number under each setting of MySQL
// and MariaDB.
func TestSessionsMySQL(t *testing.T) {
	server := durable(t, "mysql")
	set := func(statements ...string) session { return session{init: statements} }
	var rows []row
	for _, r := range []row{
		{name: "autocommit=0", session: set("SET autocommit = 0")},
		{name: "completion_type=CHAIN", session: set("SET completion_type = 'CHAIN'"), app: oneTransaction},
		{name: "completion_type=CHAIN, one transaction", session: set("SET completion_type = 'CHAIN'"), app: once(oneTransaction)},
		{name: "autocommit=0 and completion_type=CHAIN", session: set("SET completion_type = 'CHAIN'", "SET autocommit = 0"), app: oneTransaction},
		{name: "completion_type=RELEASE", session: set("SET completion_type = 'RELEASE'"), app: oneTransaction},
		{name: "autocommit=0 and completion_type=RELEASE", session: set("SET completion_type = 'RELEASE'", "SET autocommit = 0"), app: oneTransaction},
		{name: "transactions left open", app: leavesOpen("START TRANSACTION")},
		{name: "one transaction left open", app: once(leavesOpen("START TRANSACTION"))},
		{name: "one read-only transaction left open", app: once(leavesOpen("START TRANSACTION READ ONLY"))},
		{name: "one XA transaction left open", app: once(leavesXA)},
		{name: "table locked by the application", app: once(locksTable), want: worksOrRefused, names: "lock"},
	} {
		rows = append(rows, r)
		r.name, r.exist = r.name+", tables exist", true
		rows = append(rows, r)
	}
	rows = append(rows, []row{
		{name: "defaults"},
		{name: "isolation READ UNCOMMITTED", session: set("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")},
		{name: "isolation READ COMMITTED", session: set("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")},
		{name: "isolation REPEATABLE READ", session: set("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")},
		{name: "isolation SERIALIZABLE", session: set("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")},
		{name: "isolation SERIALIZABLE and autocommit=0", session: set("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET autocommit = 0")},
		{name: "transaction_read_only=1", session: set("SET SESSION TRANSACTION READ ONLY"), want: worksOrRefused, names: "read"},
		{name: "sql_mode=''", session: set("SET sql_mode = ''")},
		{name: "sql_mode=ANSI", session: set("SET sql_mode = 'ANSI'")},
		{name: "sql_mode=NO_BACKSLASH_ESCAPES", session: set("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")},
		{name: "sql_mode=HIGH_NOT_PRECEDENCE", session: set("SET sql_mode = 'HIGH_NOT_PRECEDENCE'")},
		{name: "sql_mode=PAD_CHAR_TO_FULL_LENGTH", session: set("SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'")},
		{name: "sql_mode=NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO", session: set("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO'")},
		{name: "sql_mode=ORACLE", session: set("SET sql_mode = 'ORACLE'"), only: "mariadb"},
		{name: "sql_mode=EMPTY_STRING_IS_NULL", session: set("SET sql_mode = 'EMPTY_STRING_IS_NULL'"), only: "mariadb", want: worksOrRefused, names: "EMPTY_STRING_IS_NULL"},
		{name: "sql_mode=SIMULTANEOUS_ASSIGNMENT", session: set("SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'"), only: "mariadb", want: worksOrRefused, names: "SIMULTANEOUS_ASSIGNMENT"},
		{name: "sql_safe_updates=1", session: set("SET sql_safe_updates = 1")},
		{name: "clientFoundRows", session: session{params: map[string]string{"clientFoundRows": "true"}}},
		{name: "interpolateParams", session: session{params: map[string]string{"interpolateParams": "true"}}},
		{name: "interpolateParams and NO_BACKSLASH_ESCAPES", session: session{params: map[string]string{"interpolateParams": "true"}, init: []string{"SET sql_mode = 'NO_BACKSLASH_ESCAPES'"}}},
		{name: "clientFoundRows and autocommit=0", session: session{params: map[string]string{"clientFoundRows": "true"}, init: []string{"SET autocommit = 0"}}},
		{name: "innodb_snapshot_isolation=ON", session: set("SET innodb_snapshot_isolation = ON"), only: "mariadb"},
		{name: "innodb_lock_wait_timeout=1", session: set("SET innodb_lock_wait_timeout = 1")},
		{name: "time_zone", session: set("SET time_zone = '-12:00'")},
		{name: "another time_zone for each connection", session: session{each: []string{"SET time_zone = '-12:00'", "SET time_zone = '+00:00'", "SET time_zone = '+05:30'"}}},
		{name: "latin1 and utf8mb4", session: set("SET NAMES latin1"), ofB: &session{}, want: worksOrRefused, names: "character"},
		{name: "latin1 and utf8mb4, namespace beyond ASCII", session: set("SET NAMES latin1"), ofB: &session{}, space: "größe", want: worksOrRefused, names: "character"},
		{name: "another character set for each connection", session: session{each: []string{"SET NAMES latin1", "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET NAMES utf8mb4 COLLATE utf8mb4_bin"}}, want: worksOrRefused, names: "character"},
		{name: "another autocommit for each connection", session: session{each: []string{"SET autocommit = 0", "SET autocommit = 1"}}},
	}...)
	inParallel(t, 8, rows, func(r row) string { return r.name }, func(t *testing.T, r row) { r.test(t, server) })
}

// TestBinlogStatement lets two programs share a worker number on a server that logs
// statements, and therefore refuses the statements of READ COMMITTED transactions.
func TestBinlogStatement(t *testing.T) {
	server := durable(t, "mysql")
	if !logsBinary(t, server) {
		if !server.MariaDB {
			t.Skipf("%s has no binary log, and only a private MariaDB can be started with one", server.Version)
		}
		server, _ = dbtest.WithCommand(t, "mysql", func(_ string, command []string) []string {
			return append(command, "--log-bin=binlog", "--sync-binlog=1", "--server-id=7")
		})
	}
	var rows []row
	for _, level := range []string{"READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		r := row{name: "isolation " + level, want: worksOrRefused, names: "binlog_format", session: session{init: []string{
			"SET SESSION binlog_format = 'STATEMENT'", "SET SESSION TRANSACTION ISOLATION LEVEL " + level,
		}}}
		if level != "READ COMMITTED" && level != "READ UNCOMMITTED" {
			r.want = works
		}
		rows = append(rows, r)
	}
	rows = append(rows,
		row{name: "autocommit=0", session: session{init: []string{"SET SESSION binlog_format = 'STATEMENT'", "SET autocommit = 0"}}},
		row{name: "binlog_format=MIXED", session: session{init: []string{"SET SESSION binlog_format = 'MIXED'"}}},
	)
	inParallel(t, 6, rows, func(r row) string { return r.name }, func(t *testing.T, r row) { r.test(t, server) })
}

func logsBinary(t *testing.T, db dbtest.DB) (yes bool) {
	t.Helper()
	if err := db.Connect(t).QueryRow("SELECT @@log_bin").Scan(&yes); err != nil {
		t.Fatal(err)
	}
	return yes
}

// once makes an application do its work only before Open.
func once(app func(context.Context, *sql.DB) error) func(context.Context, *sql.DB) error {
	var mu sync.Mutex
	did := make(map[*sql.DB]bool)
	return func(ctx context.Context, db *sql.DB) error {
		mu.Lock()
		defer mu.Unlock()
		if did[db] {
			return nil
		}
		did[db] = true
		return app(ctx, db)
	}
}
