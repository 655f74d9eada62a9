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
// earlier ones afterwards. Each test also leaves out the rule that ensures it, and then ids
// must repeat or be below earlier ones.

const (
	counter = `'"public"."snowkey_next_counter"'::pg_catalog.regclass`
	current = `'"public"."snowkey_next_current"'::pg_catalog.regclass`
	history = `'"public"."snowkey_next_history"'::pg_catalog.regclass`

	limits    = "'snowkey.limit_' || " + current + "::oid"
	sequences = "DROP SEQUENCE snowkey_next_counter, snowkey_next_current, snowkey_next_history"
)

// wrong is for functions that lack a rule, beside those of patient.
var wrong = sqlgen.Writer{Namespace: "wrong", Name: "wrong_next", Window: 10 * time.Minute}

// patient has ids far ahead of the clock at first. So a counter that starts at the clock is
// below them, however slow the test is.
var patient = sqlgen.Writer{Window: 10 * time.Minute}

var (
	// A session keeps its limit for any sequence of the same name.
	keepsLimits = []string{
		limits, "'snowkey.limit'",
		"pg_sequence_last_value(" + current + ") IS NOT NULL AND split_part(current_setting('snowkey.limit', true), '/', 1) = pg_sequence_last_value(" + history + ")::text THEN",
		"split_part(current_setting('snowkey.limit', true), '/', 1) <> '' THEN",
	}
	// A session keeps its limit for any sequence that was raised in the same database.
	keepsLimitsOfOther = []string{limits, "'snowkey.limit'"}

	// A session draws before it has checked the row.
	neverChecks = []string{`"public"."snowkey_next_ready"() AND`, ""}

	// A crash does not empty the sequences.
	survives = []string{"CREATE UNLOGGED SEQUENCE", "CREATE SEQUENCE"}

	// The counter is never raised above what may be lost.
	neverRaises = []string{
		"known := pg_sequence_last_value(" + history + ") IS NOT DISTINCT FROM hash AND", "known := true OR",
	}
)

// TestDropped drops the functions, or the sequences too, and creates them again, while a
// session stays open that has made ids before.
func TestDropped(t *testing.T) {
	t.Parallel()
	functions := patient.PostgresDrop()
	for _, tt := range []struct {
		name  string
		drop  []string
		edits []string
		above bool
	}{
		{"the functions", functions, nil, true},
		{"all", append(functions, sequences), nil, true},
		{"the counter", []string{"DROP SEQUENCE snowkey_next_counter"}, nil, true},
		{"the history", []string{"DROP SEQUENCE snowkey_next_history"}, nil, true},
		{"the current sequence", []string{"DROP SEQUENCE snowkey_next_current"}, nil, true},
		{"the counter, restarted", []string{"ALTER SEQUENCE snowkey_next_counter RESTART"}, nil, true},
		{"the current sequence, restarted", []string{"ALTER SEQUENCE snowkey_next_current RESTART"}, nil, true},
		{"all, and limits are kept", append(functions, sequences), keepsLimits, false},
		{"all, and the counter is not raised", append(functions, sequences), neverRaises, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := postgreSQL(t).Connect(t)
			live, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			statements := without(t, patient, tt.edits...)
			run(t, db, statements...)
			before := query(t, live, "SELECT snowkey_next() UNION ALL SELECT snowkey_next(5000)")
			run(t, db, tt.drop...)
			run(t, db, statements...)
			run(t, db, statements...)
			after := query(t, live, "SELECT snowkey_next() UNION ALL SELECT snowkey_next()")
			if above(after, before) != tt.above {
				t.Errorf("after the drop, %d follows %d", after[0], before[len(before)-1])
			}
			other := query(t, db, "SELECT snowkey_next() UNION ALL SELECT snowkey_next(3)")
			if tt.above && !above(other, append(before, after...)) {
				t.Errorf("in another session, %d follows %d and %d", other[0], before[len(before)-1], after[1])
			}
		})
	}
}

// TestDump restores a dump into the same database, while an idle session stays open that has
// made ids before. It also restores it into another database.
func TestDump(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits   []string
		repeats bool
	}{
		"":                             {nil, false},
		"the counter is not raised":    {append(keepsLimits, neverRaises...), true},
		"limits of others are trusted": {keepsLimitsOfOther, true},
		"sessions draw unchecked":      {neverChecks, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := postgreSQL(t)
			db := from.Connect(t)
			live, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			run(t, db, without(t, patient, tt.edits...)...)
			run(t, db, "CREATE TABLE rows (id bigint PRIMARY KEY DEFAULT snowkey_next())")
			made := query(t, live, "INSERT INTO rows DEFAULT VALUES RETURNING id")
			dump := tool(t, nil, "pg_dump", "--clean", "--if-exists", "--dbname="+from.DSN)
			made = append(made, query(t, live, "INSERT INTO rows SELECT snowkey_next() FROM generate_series(1, 9) RETURNING id")...)
			tool(t, dump, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+from.DSN)
			again := query(t, live, "INSERT INTO rows SELECT snowkey_next() FROM generate_series(1, 9) RETURNING id")
			if above(again, made) == tt.repeats {
				t.Errorf("after the restore, %d follows %d", again[0], made[len(made)-1])
			}
			if name == "" {
				other := postgreSQL(t)
				tool(t, dump, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+other.DSN)
				if ids := query(t, other.Connect(t), "INSERT INTO rows DEFAULT VALUES RETURNING id"); !above(ids, append(made, again...)) {
					t.Errorf("in another database, %d follows %d", ids[0], again[len(again)-1])
				}
			}
		})
	}
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
	run(t, db, without(t, wrong, survives...)...)
	both := func(db *sql.DB) [2][]int64 {
		return [2][]int64{query(t, db, "SELECT snowkey_next(99)"), query(t, db, "SELECT wrong_next(99)")}
	}
	both(db)
	files := dbtest.FilesOf(t, server)
	before := both(db)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	after := both(files.Connect(t))
	for i, want := range []bool{true, false} {
		if above(after[i], before[i]) != want {
			t.Errorf("variant %d: %d follows %d", i, after[i][0], before[i][98])
		}
	}
}

// TestClock sets the server's clock back.
func TestClock(t *testing.T) {
	t.Parallel()
	server, _, clock := dbtest.Clocked(t, "postgres")
	server.Since(t, 15)
	db := server.Connect(t)
	install(t, db, patient)
	run(t, db, without(t, wrong, "(GREATEST(last, ", "(0 * GREATEST(last, ")...)
	// The first ids are ahead of the clock, by less than the clock is set now.
	query(t, db, "SELECT snowkey_next() UNION ALL SELECT wrong_next()")
	if err := clock.Set(30 * time.Minute); err != nil {
		t.Fatal(err)
	}
	before := query(t, db, "SELECT snowkey_next(2) UNION ALL SELECT snowkey_next()")
	ahead := query(t, db, "SELECT wrong_next(2)")
	if err := clock.Set(25 * time.Minute); err != nil {
		t.Fatal(err)
	}
	after := query(t, db, "SELECT snowkey_next() UNION ALL SELECT snowkey_next(2)")
	if !above(after, before) {
		t.Errorf("after the clock went back, %d follows %d", after[0], before[2])
	}
	if ids := query(t, db, "SELECT wrong_next(2)"); above(ids, ahead) {
		t.Errorf("a counter that follows the clock back made %d after %d", ids[0], ahead[1])
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
	if ids := query(t, db, "SELECT snowkey_next()"); !above(ids, append(before, after...)) {
		t.Errorf("%d follows %d", ids[0], after[2])
	}
}
