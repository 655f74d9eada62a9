package sqlgen

import (
	"bytes"
	"database/sql"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// In these tests, the counter of the functions is lost, or goes back. Ids must be above all
// earlier ones afterwards. test/mutants removes the rules that ensure it, one at a time.

// patient has ids far ahead of the clock at first. So a counter that starts at the clock is
// below them, however slow the test is.
var patient = sqlgen.Writer{Window: 10 * time.Minute}

// TestDropped drops what the functions consist of and creates it again, while a session stays
// open that has made ids before.
func TestDropped(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, server dbtest.DB, k kind) {
		for name, drop := range k.drops {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, server.Dialect).Connect(t)
				live := session(t, db)
				dbtest.Exec(t, db, k.on(t, k.patient)...)
				before := query(t, live, k.some)
				if k.mariaDB {
					later(t, db)
				}
				dbtest.Exec(t, db, drop...)
				dbtest.Exec(t, db, k.on(t, k.patient)...)
				dbtest.Exec(t, db, k.on(t, k.patient)...)
				after := query(t, live, k.some)
				requireAbove(t, after[k.kept:], before)
				requireAbove(t, query(t, db, k.some), append(before, after...))
			})
		}
	})
}

// later waits until tables that are created now have a later time of creation, which MySQL
// and MariaDB keep in seconds.
func later(t *testing.T, db *sql.DB) {
	t.Helper()
	const past = "UNIX_TIMESTAMP(SYSDATE()) > UNIX_TIMESTAMP(create_time) FROM information_schema.tables " +
		"WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease'"
	dbtest.Await(t, "the next second", func() bool { return count(t, db, past) == 1 })
}

// TestDump restores a dump into the same database, while an idle session stays open that has
// made ids before. It also restores it into another database.
func TestDump(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, from dbtest.DB, k kind) {
		db := from.Connect(t)
		live, idle := session(t, db), session(t, db) // idle makes no ids between the dump and its restoration
		dbtest.Exec(t, db, k.on(t, k.patient)...)
		dbtest.Exec(t, db, k.table()...)
		dbtest.Exec(t, live, "INSERT INTO made (v) VALUES (1)")
		made := slices.Concat(query(t, live, "SELECT id FROM made"), query(t, idle, k.some), query(t, live, k.some))
		dump, restore := k.dump(t, from)
		dumped := tool(t, from.Dialect, nil, dump...)
		made = slices.Concat(made, query(t, live, k.some), query(t, db, k.some))
		if from.Dialect == "mysql" {
			later(t, db)
		}
		tool(t, from.Dialect, dumped, restore...)
		again := slices.Concat(query(t, idle, k.some)[k.kept:], query(t, live, k.some)[k.kept:])
		requireAbove(t, again, made)
		other := dbtest.Open(t, from.Dialect)
		_, restore = k.dump(t, other)
		tool(t, from.Dialect, dumped, restore...)
		restored := other.Connect(t)
		dbtest.Exec(t, restored, "INSERT INTO made (v) VALUES (2)")
		requireAbove(t, query(t, restored, "SELECT id FROM made WHERE v = 2"), append(made, again...))
	})
}

// tool runs a program of the database server that is on this machine. If it is not there, or
// does not fit the server, the test can't run. It is then skipped if package dbtest has
// fetched the version of the server, because it fetches no such programs.
func tool(t *testing.T, dialect string, input []byte, command ...string) []byte {
	t.Helper()
	name := command[0]
	absent := func(why string) {
		t.Helper()
		if version := dbtest.Version(dialect); version != "" {
			t.Skipf("%s has no %s of its own: %s", version, name, why)
		}
		dbtest.NotRun(t, why)
	}
	if _, err := exec.LookPath(name); err != nil {
		absent(name + " is not installed")
	}
	cmd := exec.CommandContext(t.Context(), name, command[1:]...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && strings.Contains(stderr.String(), "version mismatch") {
		absent(name + " does not fit this server: " + stderr.String())
	}
	if err != nil && strings.Contains(stderr.String(), "is not installed") {
		absent(name + " is Debian's, which only looks for the real one: " + stderr.String())
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	return out
}

// TestSnapshot starts a copy of a server's files that lacks the last ids.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	server, process := dbtest.Killable(t, "postgres")
	server.Since(t, 15)
	db := server.Connect(t)
	install(t, db, patient)
	query(t, db, "SELECT snowkey_next(99)")
	files := dbtest.FilesOf(t, server)
	before := query(t, db, "SELECT snowkey_next(99)")
	dbtest.NoError(t, process.Kill())
	requireAbove(t, query(t, files.Connect(t), "SELECT snowkey_next(99)"), before)
}

// TestClock sets the server's clock back, on MySQL and MariaDB at night.
func TestClock(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, server dbtest.DB, k kind) {
		if server.Dialect == "mysql" && !dbtest.Nightly {
			t.Skip("TestClock of make nightly includes this")
		}
		server, process := dbtest.Clocked(t, server.Dialect)
		db := server.Connect(t)
		dbtest.Exec(t, db, k.on(t, k.patient)...)
		set := func(by time.Duration) {
			t.Helper()
			dbtest.NoError(t, process.SetClock(by))
		}
		// The first ids are ahead of the clock, by less than the clock is set now.
		query(t, db, k.some)
		set(30 * time.Minute)
		before := query(t, db, k.some)
		set(25 * time.Minute)
		after := query(t, db, k.some)
		requireAbove(t, after, before)
		set(-2 * time.Minute)
		db.SetMaxIdleConns(0) // a session that is open may go on for as long as the clock was right
		_, err := db.ExecContext(t.Context(), "SELECT snowkey_next()")
		if err == nil || !strings.Contains(err.Error(), "ahead of the clock") || !strings.Contains(err.Error(), "55000") {
			t.Errorf("32 minutes back: %v", err)
		}
		set(30 * time.Minute)
		requireAbove(t, query(t, db, k.some), append(before, after...))
	})
}
