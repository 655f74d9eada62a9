package autoinc_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// A killing is a context in which kill is called once at each point that tries reports.
type killing struct {
	context.Context
	points map[string]bool // that were reached
	kills  int
}

func newKilling(t *testing.T, tries func(n int) bool, kill func() error) *killing {
	k := &killing{points: make(map[string]bool)}
	k.Context = failpoint.WithHook(t.Context(), func(point string) error {
		if k.points[point] {
			return nil
		}
		k.points[point] = true
		if !tries(len(k.points)) {
			return nil
		}
		k.kills++
		return kill()
	})
	return k
}

var errKilled = errors.New("killed")

// simulated makes Apply behave as if its process had been killed.
func simulated() error { return errKilled }

// modes runs a test on each database, with the plans that it has: online and offline on
// Postgres, and a single one elsewhere.
func modes(t *testing.T, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	modesOf(t, true, test)
}

func modesOf(t *testing.T, all bool, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	for _, dialect := range dbtest.Databases(t) {
		for _, online := range []bool{false, true} {
			if one := dialect == "postgres"; online && dialect == "sqlite" || online != one && !all { // without all, each has one mode
				continue
			}
			t.Run(dialect+map[bool]string{true: " online"}[online], func(t *testing.T) {
				t.Parallel()
				test(t, open(t, dialect), autoinc.PlanOptions{Online: online})
			})
		}
	}
}

// fewModes is modes, but if not at night only with the online plan of Postgres and the other
// plan of MySQL. It is for what doesn't depend on how a column is widened.
func fewModes(t *testing.T, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	modesOf(t, dbtest.Nightly, test)
}

// We kill Apply, or have the server drop its connection, before and after statements and
// records, once at each point. The next Apply must continue from there, and the result must
// be the same as if nothing had been killed.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "sqlite" { // which has no server
			killAtPoints(t, newShop, db, options, dbtest.Points(t), simulated)
			return
		}
		killer, few, drop := db.Connect(t), fewPoints(t), false
		tries := func(n int) bool { return few(n) || few(n-1) }
		killAtPoints(t, newShop, db, options, tries, func() error {
			if drop = !drop; drop {
				killApply(t, killer, db)
				return nil
			}
			return errKilled
		})
	})
}

// killApply ends the connection that holds an Apply's lock, and no other one.
func killApply(t *testing.T, killer *sql.DB, db dbtest.DB) {
	t.Helper()
	if db.Dialect == "postgres" {
		number(t, killer, `SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		return
	}
	const holder = "SELECT COALESCE(IS_USED_LOCK(CONCAT('snowkey_migration ', LEFT(SHA2(CONCAT('`', DATABASE(), '`.`snowkey_migration`'), 256), 32))), 0)"
	if id := number(t, killer, holder); id != 0 {
		dbtest.Exec(t, killer, fmt.Sprintf("KILL %d", id))
		for number(t, killer, holder) == id { // KILL does not wait for the connection to end
			time.Sleep(time.Millisecond)
		}
	}
}

// fewPoints is like dbtest.Points, but reports only every 25th point if not all. It is for
// tests that begin anew for each point, and for long plans.
func fewPoints(t *testing.T) func(n int) bool {
	tries := dbtest.Points(t)
	return func(n int) bool { return tries(n) && tries(n/5) }
}

// killAtPoints kills Apply at the points that tries reports, and lets it continue.
func killAtPoints(t *testing.T, newShop func(*testing.T, dbtest.DB) shop, db dbtest.DB, options autoinc.PlanOptions, tries func(int) bool, kill func() error) {
	undisturbed := newShop(t, open(t, db.Dialect))
	applyAll(t, undisturbed.conn, plan(t, undisturbed.conn, options), autoinc.ApplyOptions{})
	s := newShop(t, db)
	p := plan(t, s.conn, options)
	k, failures := newKilling(t, tries, kill), 0
	for calls := 0; ; calls++ {
		phase, err := autoinc.Apply(k, s.conn, p, autoinc.ApplyOptions{BatchSize: 20})
		if err != nil && !errors.Is(err, autoinc.ErrBusy) { // busy is it until the server has noticed that the last Apply is gone
			failures++
		}
		if failures > k.kills || calls > 100_000 {
			t.Fatalf("after %d points, with %d failures of %d kills: %v", len(k.points), failures, k.kills, err)
		}
		if err == nil && phase.Name == "" {
			break
		}
	}
	steps := 0
	for _, phase := range p.Phases {
		steps += len(phase.Steps)
	}
	if len(k.points) < 2*steps || k.kills == 0 {
		t.Errorf("%d points for %d steps, and %d kills", len(k.points), steps, k.kills)
	}
	prove(t, s.conn, p)
	require(t, "the end", s.whole(t), undisturbed.whole(t))
	t.Logf("%d points at %d steps", len(k.points), steps)
}

// Two writers continue during every phase. One of them sends no keys until it is
// refused for good, and the other sends keys as soon as that's switched on. Every row
// that was acknowledged must still be there at the end, with the same key.
func TestWriters(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		s := newShop(t, db)
		p := plan(t, s.conn, options)
		if db.Dialect == "postgres" {
			db = simple(db)
		}
		conn := db.Connect(t)
		if db.Dialect == "sqlite" { // writers have to wait while a table is being rebuilt
			conn.SetMaxOpenConns(1)
			dbtest.Exec(t, conn, "PRAGMA busy_timeout = 60000")
		}
		var names []string // of acknowledged users, each of which has an order
		var mu sync.Mutex
		var generate atomic.Bool
		next := int64(7_350_000_000_000_000_001)
		// writer writes users, each with an order in the same transaction.
		writer := func(who string, sends bool) func() error {
			n := 0
			return func() error {
				if sends && !generate.Load() {
					return nil
				}
				n++
				name := fmt.Sprintf("%s %d", who, n)
				user := s.sql("INSERT INTO [Us'er] ([nöme]) VALUES ('%s')", name)
				order := s.sql("INSERT INTO orders (user_id) SELECT [Order] FROM [Us'er] WHERE [nöme] = '%s'", name)
				if sends {
					next += 2
					user = s.sql("INSERT INTO [Us'er] ([Order], [nöme]) VALUES (%d, '%s')", next, name)
					order = s.sql("INSERT INTO orders (id, user_id) VALUES (%d, %d)", next+1, next)
				}
				err := inTx(conn, inTurn(user, order))
				if err == nil {
					mu.Lock()
					names = append(names, name)
					mu.Unlock()
				}
				return err
			}
		}
		c := repeat(t, 30*time.Millisecond, writer("legacy", false), writer("new", true))
		for {
			c.wait(t, c.count()+16)
			phase := dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{BatchSize: 10, LockTimeout: time.Second}))(t)
			if phase.Name == autoinc.SwitchOn {
				generate.Store(true)
			}
			if phase.Name == "" {
				break
			}
		}
		c.wait(t, c.count()+16)
		c.stop()
		if len(c.errors) == 0 {
			t.Error("the writer that sends no key was never refused")
		}
		for _, name := range names {
			requireNumber(t, s.conn, 101, s.sql("SELECT 100 * count(*) + (SELECT count(*) FROM orders WHERE user_id = max(u.[Order])) FROM [Us'er] u WHERE [nöme] = '%s'", name))
		}
		prove(t, s.conn, p)
	})
}
