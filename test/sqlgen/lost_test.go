package sqlgen

import (
	"bytes"
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
	counter = `'"public"."snowkey_next_counter"'::regclass`
	history = `'"public"."snowkey_next_history"'::regclass`
)

// wrong is for functions that lack a rule, beside those of patient.
var wrong = sqlgen.Writer{Namespace: "wrong", Name: "wrong_next", Window: 10 * time.Minute}

// patient has ids far ahead of the clock at first. So a counter that starts at the clock is
// below them, however slow the test is.
var patient = sqlgen.Writer{Window: 10 * time.Minute}

var (
	// A session keeps its limit for any counter of the same name.
	keepsLimits = []string{
		"'snowkey.limit_' || " + counter + "::oid || '_' || hash", "'snowkey.limit'",
		"'snowkey.limit_' || " + counter + "::oid || '_' || pg_sequence_last_value(" + history + ")", "'snowkey.limit'",
		"IF pg_sequence_last_value(" + counter + ") IS NOT NULL THEN", "IF true THEN",
	}
	// A session keeps its limit for any counter that was raised in the same database.
	keepsLimitsOfOther = []string{"'snowkey.limit_' || " + counter + "::oid || '_' || ", "'snowkey.limit_' || "}

	// The counter is never raised above what may be lost.
	neverRaises = []string{
		"known := pg_sequence_last_value(" + history + ") IS NOT DISTINCT FROM hash AND pg_sequence_last_value(" + counter + ") IS NOT NULL;", "known := true;",
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
		{"all", append(functions, "DROP SEQUENCE snowkey_next_counter, snowkey_next_history"), nil, true},
		{"the counter", []string{"DROP SEQUENCE snowkey_next_counter"}, nil, true},
		{"the history", []string{"DROP SEQUENCE snowkey_next_history"}, nil, true},
		{"the counter, restarted", []string{"ALTER SEQUENCE snowkey_next_counter RESTART"}, nil, true},
		{"all, and limits are kept", append(functions, "DROP SEQUENCE snowkey_next_counter, snowkey_next_history"), keepsLimits, false},
		{"all, and the counter is not raised", append(functions, "DROP SEQUENCE snowkey_next_counter, snowkey_next_history"), neverRaises, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Postgres(t).Connect(t)
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := dbtest.Postgres(t)
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
				other := dbtest.Postgres(t)
				tool(t, dump, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+other.DSN)
				if ids := query(t, other.Connect(t), "INSERT INTO rows DEFAULT VALUES RETURNING id"); !above(ids, append(made, again...)) {
					t.Errorf("in another database, %d follows %d", ids[0], again[len(again)-1])
				}
			}
		})
	}
}

// tool runs a program of PostgreSQL that is installed on this machine.
func tool(t *testing.T, input []byte, name string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && strings.Contains(stderr.String(), "version mismatch") {
		t.Skipf("%s does not fit this server: %s", name, stderr.String())
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	return out
}

// TestPromotedStandby kills a server whose standby lacks the last ids, and goes on with the
// standby.
func TestPromotedStandby(t *testing.T) {
	t.Parallel()
	primary, process := dbtest.Killable(t, "postgres")
	db := primary.Connect(t)
	install(t, db, patient)
	run(t, db, without(t, wrong, strings.ReplaceAll(neverRaises[0], "snowkey_next", "wrong_next"), neverRaises[1])...)
	query(t, db, "SELECT snowkey_next() UNION ALL SELECT wrong_next()")
	standby := dbtest.StandbyOf(t, primary)
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	before := [2][]int64{query(t, db, "SELECT snowkey_next() FROM generate_series(1, 99)"), query(t, db, "SELECT wrong_next() FROM generate_series(1, 99)")}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	db = standby.Connect(t)
	after := [2][]int64{query(t, db, "SELECT snowkey_next() FROM generate_series(1, 99)"), query(t, db, "SELECT wrong_next() FROM generate_series(1, 99)")}
	for i, want := range []bool{true, false} {
		if above(after[i], before[i]) != want {
			t.Errorf("variant %d: %d to %d follow %d to %d", i, after[i][0], after[i][98], before[i][0], before[i][98])
		}
	}
}

// TestCrash kills the server right after an id was returned that no row of a table has. The
// sequence's log record belongs to a transaction that is still open.
func TestCrash(t *testing.T) {
	t.Parallel()
	db, process := dbtest.Killable(t, "postgres", "wal_writer_delay=10s")
	c := db.Connect(t)
	c.SetMaxIdleConns(0)
	flushes := `setval('"public"."wrong_next_flush"'::regclass, 1)::text`
	install(t, c, patient)
	run(t, c, without(t, wrong, flushes, "'1'")...)
	for _, name := range []string{"snowkey_next()", "snowkey_next(1)", "wrong_next()", "wrong_next(1)"} {
		repeats := func() bool {
			query(t, c, "SELECT "+name)
			run(t, c, "CHECKPOINT")
			open, err := c.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Rollback()
			query(t, open, "SELECT "+name+" FROM generate_series(1, 40)")
			before := query(t, c, "SELECT "+name)
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			after := query(t, c, "SELECT "+name+" FROM generate_series(1, 99)")
			return !above(after, before)
		}
		want := strings.HasPrefix(name, "wrong")
		// The server may happen to have flushed the record just before it was killed.
		for attempts := 5; repeats() != want; attempts-- {
			if !want || attempts == 0 {
				t.Fatalf("%s: ids repeat: %v, want %v", name, !want, want)
			}
		}
	}
}

// TestClock sets the server's clock back.
func TestClock(t *testing.T) {
	t.Parallel()
	server, _, clock := dbtest.Clocked(t, "postgres")
	db := server.Connect(t)
	install(t, db, patient)
	run(t, db, without(t, wrong, "GREATEST(least_tick, (last >> ", "GREATEST(least_tick, 0 * (last >> ")...)
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
