package sqlgen

import (
	"bytes"
	"database/sql"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// In these tests, the counter of the functions is lost, or goes back. Ids must be above all
// earlier ones afterwards. test/mutants removes the rules that ensure it, one at a time.

const sequences = "DROP SEQUENCE snowkey_next_counter, snowkey_next_current, snowkey_next_history"

// patient has ids far ahead of the clock at first. So a counter that starts at the clock is
// below them, however slow the test is.
var patient = sqlgen.Writer{Window: 10 * time.Minute}

// TestDropped drops the functions, or the sequences too, and creates them again, while a
// session stays open that has made ids before.
func TestDropped(t *testing.T) {
	t.Parallel()
	functions := patient.PostgresDrop()
	for name, drop := range map[string][]string{
		"the functions":                   functions,
		"all":                             append(functions, sequences),
		"the counter":                     {"DROP SEQUENCE snowkey_next_counter"},
		"the history":                     {"DROP SEQUENCE snowkey_next_history"},
		"the current sequence":            {"DROP SEQUENCE snowkey_next_current"},
		"the counter, restarted":          {"ALTER SEQUENCE snowkey_next_counter RESTART"},
		"the current sequence, restarted": {"ALTER SEQUENCE snowkey_next_current RESTART"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgreSQL(t).Connect(t)
			live := session(t, db)
			install(t, db, patient)
			before := query(t, live, "SELECT snowkey_next() UNION ALL SELECT snowkey_next(5000)")
			run(t, db, drop...)
			install(t, db, patient)
			install(t, db, patient)
			after := query(t, live, "SELECT snowkey_next() UNION ALL SELECT snowkey_next()")
			requireAbove(t, after, before)
			requireAbove(t, query(t, db, "SELECT snowkey_next() UNION ALL SELECT snowkey_next(3)"), append(before, after...))
		})
	}
}

// TestDump restores a dump into the same database, while an idle session stays open that has
// made ids before. It also restores it into another database.
func TestDump(t *testing.T) {
	t.Parallel()
	from := postgreSQL(t)
	db := from.Connect(t)
	live := session(t, db)
	install(t, db, patient)
	run(t, db, "CREATE TABLE rows (id bigint PRIMARY KEY DEFAULT snowkey_next())")
	made := query(t, live, "INSERT INTO rows DEFAULT VALUES RETURNING id")
	dump := tool(t, nil, "pg_dump", "--clean", "--if-exists", "--dbname="+from.DSN)
	const more = "INSERT INTO rows SELECT snowkey_next() FROM generate_series(1, 9) RETURNING id"
	made = append(made, query(t, live, more)...)
	tool(t, dump, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+from.DSN)
	again := query(t, live, more)
	requireAbove(t, again, made)
	other := postgreSQL(t)
	tool(t, dump, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+other.DSN)
	requireAbove(t, query(t, other.Connect(t), "INSERT INTO rows DEFAULT VALUES RETURNING id"), append(made, again...))
}

// tool runs a program of the database server that is on this machine. If it is not there, or
// does not fit the server, the test can't run. It is then skipped if package dbtest has
// fetched the version of the server, because it fetches no such programs.
func tool(t *testing.T, input []byte, name string, args ...string) []byte {
	t.Helper()
	variable := "SNOWKEY_TEST_MYSQL_VERSION"
	if name == "pg_dump" || name == "psql" {
		variable = "SNOWKEY_TEST_POSTGRES_VERSION"
	}
	absent := func(why string) {
		t.Helper()
		if version := os.Getenv(variable); version != "" {
			t.Skipf("%s=%s has no %s of its own: %s", variable, version, name, why)
		}
		dbtest.NotRun(t, why)
	}
	if _, err := exec.LookPath(name); err != nil {
		absent(name + " is not installed")
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
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

// TestClock sets the server's clock back.
func TestClock(t *testing.T) {
	t.Parallel()
	server, _, clock := dbtest.Clocked(t, "postgres")
	server.Since(t, 15)
	db := server.Connect(t)
	install(t, db, patient)
	checkClock(t, db, clock, "SELECT snowkey_next(2) UNION ALL SELECT snowkey_next()")
}

// checkClock sets the clock of a server back, on which patient is installed.
func checkClock(t *testing.T, db *sql.DB, clock *dbtest.Clock, some string) {
	t.Helper()
	set := func(by time.Duration) {
		t.Helper()
		dbtest.NoError(t, clock.Set(by))
	}
	// The first ids are ahead of the clock, by less than the clock is set now.
	query(t, db, some)
	set(30 * time.Minute)
	before := query(t, db, some)
	set(25 * time.Minute)
	after := query(t, db, some)
	requireAbove(t, after, before)
	set(-2 * time.Minute)
	db.SetMaxIdleConns(0) // a session that is open may go on for as long as the clock was right
	_, err := db.ExecContext(t.Context(), "SELECT snowkey_next()")
	if err == nil || !strings.Contains(err.Error(), "ahead of the clock") || !strings.Contains(err.Error(), "55000") {
		t.Errorf("32 minutes back: %v", err)
	}
	set(30 * time.Minute)
	requireAbove(t, query(t, db, some), append(before, after...))
}
