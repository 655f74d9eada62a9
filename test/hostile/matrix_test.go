package hostile

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"slices"
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
	names   string // parts of the error if it's refused, with commas between them; case is ignored
	only    string // "mariadb" if MySQL doesn't have this setting
	fast    bool   // whether it is tested on each push; the others only at night
}

// selected returns the rows that are tested now.
func selected(rows []row) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return !r.fast && !dbtest.Nightly })
}

// variants returns the row, and one whose tables exist. If an application leaves something
// open, only the latter is fast, because there the first claim is affected. Otherwise
// statements that create the tables would come first.
func (r row) variants() []row {
	exist := r
	exist.name, exist.exist = r.name+", tables exist", true
	r.fast, exist.fast = r.fast && r.app == nil, r.fast && r.app != nil
	return []row{r, exist}
}

// open returns a database for the setting, and what connects program A and program B.
func (r row) open(t *testing.T, server dbtest.DB) (db dbtest.DB, programs map[string]session) {
	t.Helper()
	if r.only == "mariadb" && !server.MariaDB {
		t.Skipf("%s does not have this setting", server.Version)
	}
	programs = map[string]session{"A": r.session, "B": r.session}
	if r.ofB != nil {
		programs["B"] = *r.ofB
	}
	return newDatabase(t, server), programs
}

// test lets two programs share a worker number under the setting.
func (r row) test(t *testing.T, server dbtest.DB) {
	db, sessions := r.open(t, server)
	if r.exist {
		prepare(t, db)
	}
	lasting := window + 300*time.Millisecond
	if dbtest.Nightly {
		lasting *= 3
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // much longer than needed, even on a busy machine
	defer cancel()
	var wg sync.WaitGroup
	var programs []*program
	for name, s := range sessions {
		p := &program{name: name, dialect: server.Dialect, db: s.connect(t, db), app: r.app, namespace: r.space}
		programs = append(programs, p)
		wg.Go(func() { p.run(ctx, p.lasts(lasting)) })
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
	if p.run(ctx, p.lasts(0)); p.err != nil {
		t.Fatal(p.err)
	}
}

// judge checks that a program worked or was refused, depending on what the row expects.
func (r row) judge(t *testing.T, p *program) {
	t.Helper()
	issued := len(p.ids)
	const longest = 10 * time.Second // of ten windows, even on a busy machine
	if r.want == works && p.gap > longest {
		t.Errorf("program %s issued no ids for %v", p.name, p.gap)
	}
	switch {
	case p.err == nil && issued > 0:
		if r.want == refused {
			t.Errorf("program %s issued %d ids, want a refusal that names %s", p.name, issued, r.names)
		}
	case p.err == nil:
		t.Errorf("program %s: Open succeeded, but no id was issued", p.name)
	case r.want == works:
		t.Errorf("program %s: Open failed after %v: %v", p.name, p.opened.Round(time.Millisecond), p.err)
	case !r.named(p.err):
		t.Errorf("program %s: the refusal does not name %s: %v", p.name, r.names, p.err)
	case p.opened > atOnce:
		t.Errorf("program %s: Open was refused after %v, want at most %v: %v", p.name, p.opened.Round(time.Millisecond), atOnce, p.err)
	default:
		t.Logf("program %s: refused after %v: %v", p.name, p.opened.Round(time.Millisecond), p.err)
	}
}

// named reports whether an error has all parts that it should have.
func (r row) named(err error) bool {
	for name := range strings.SplitSeq(r.names, ", ") {
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(name)) {
			return false
		}
	}
	return true
}

// durableMySQL returns a server that flushes every commit, since leases hold off on one
// that doesn't, which would hide what these tests look for. Postgres can be told to flush
// by each session. The server is the one that the environment names if that one does, and
// otherwise a private one.
func durableMySQL(t *testing.T) dbtest.DB {
	t.Helper()
	if os.Getenv("SNOWKEY_TEST_MYSQL") != "" {
		db := dbtest.MySQL(t)
		var flushes bool
		dbtest.NoError(t, db.Connect(t).QueryRow("SELECT @@innodb_flush_log_at_trx_commit IN (1, 3) AND (@@log_bin = 0 OR @@sync_binlog = 1)").Scan(&flushes))
		if flushes {
			return db
		}
	}
	return dbtest.Durable(t, "mysql")
}

// newDatabase creates another database on a server, so that tests aren't delayed by
// each other's locks. It is dropped when the test ends.
func newDatabase(t *testing.T, server dbtest.DB) dbtest.DB {
	t.Helper()
	if server.Dialect != "mysql" {
		return dbtest.Open(t, server.Dialect)
	}
	cfg, err := mysqldriver.ParseDSN(server.DSN)
	if err != nil {
		t.Fatal("the DSN cannot be read")
	}
	cfg.DBName = "hostile_" + strings.ToLower(rand.Text()[:12])
	execAll(t, server, "CREATE DATABASE "+cfg.DBName)
	t.Cleanup(func() { execAll(t, server, "DROP DATABASE "+cfg.DBName) })
	server.DSN = cfg.FormatDSN()
	return server
}

// execAll runs statements on a new connection, which also works during cleanup.
func execAll(t *testing.T, db dbtest.DB, statements ...string) {
	t.Helper()
	conn := dbtest.Must(sql.Open(db.Driver, db.DSN))(t)
	defer conn.Close()
	dbtest.Exec(t, conn, statements...)
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

// once makes an application do its work only before Open.
func once(app func(context.Context, *sql.DB) error) func(context.Context, *sql.DB) error {
	var did sync.Map
	return func(ctx context.Context, db *sql.DB) error {
		if _, again := did.LoadOrStore(db, true); again {
			return nil
		}
		return app(ctx, db)
	}
}
