package autoinc_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

var errKilled = errors.New("killed")

// state returns everything that the catalog says about the tables of a shop.
func (s shop) state(t *testing.T) string {
	t.Helper()
	queries := map[string]string{
		"postgres": `SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull || a.attidentity::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || coalesce(c.relacl::text, '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema') AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v')
			UNION ALL SELECT inhrelid::regclass || ' is a part of ' || inhparent::regclass FROM pg_inherits
			UNION ALL SELECT conrelid::regclass || ' ' || conname || pg_get_constraintdef(oid) || convalidated FROM pg_constraint c WHERE NOT (contype = 'n' AND coninhcount > 0) AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.oid = c.conparentid AND o.conrelid = c.conrelid) AND connamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT tgname || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
			UNION ALL SELECT relname || pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT indexrelid::regclass || pg_get_indexdef(indexrelid) || indisvalid FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT proname FROM pg_proc WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT sequencename || data_type || ' ' || start_value || ' ' || increment_by || ' ' || min_value || ' ' || max_value FROM pg_sequences
			ORDER BY 1`,
		"sqlite": `SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_master ORDER BY 1`,
		"mysql": `SELECT CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT) FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, REPLACE(VIEW_DEFINITION, DATABASE(), '')) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME) FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TRIGGER_NAME, EVENT_OBJECT_TABLE, REPLACE(ACTION_STATEMENT, DATABASE(), '')) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, INDEX_NAME, COLUMN_NAME, SEQ_IN_INDEX) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
			ORDER BY 1`,
	}
	return s.lines(t, queries[s.Dialect])
}

// lines returns the rows of a query that selects a text, one a line.
func (s shop) lines(t *testing.T, query string) string {
	t.Helper()
	rows := dbtest.Must(s.conn.Query(query))(t)
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var line sql.NullString
		dbtest.NoError(t, rows.Scan(&line))
		if line.Valid {
			b.WriteString(line.String + "\n")
		}
	}
	dbtest.NoError(t, rows.Err())
	return b.String()
}

// modes runs a test on each database, with the plans that it has: online and offline on
// Postgres, and a single one elsewhere.
func modes(t *testing.T, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	modesExcept(t, "", test)
}

func modesExcept(t *testing.T, offline string, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	for _, dialect := range dbtest.Databases(t) {
		for _, online := range []bool{false, true} {
			if online && dialect != "postgres" || !dbtest.Nightly && !online && dialect == offline {
				continue
			}
			t.Run(dialect+map[bool]string{true: " online"}[online], func(t *testing.T) {
				t.Parallel()
				test(t, open(t, dialect), autoinc.PlanOptions{Online: online})
			})
		}
	}
}

// fewModes is modes, but only with the online plan of Postgres if not at night. It is for
// what doesn't depend on how a column is widened.
func fewModes(t *testing.T, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	modesExcept(t, "postgres", test)
}

// We kill Apply before and after statements and records, once at each point. The next
// Apply must continue from there, and the result must be the same as if nothing had been
// killed.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		tries := dbtest.Points(t)
		if db.Dialect != "sqlite" { // where a point takes longer
			tries = fewPoints(t)
		}
		killAtPoints(t, newShop, db, options, tries, simulated)
	})
}

// The server drops the connection of an Apply, at points all along the way. The next
// Apply must be able to continue.
func TestConnectionsKilled(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect != "sqlite" { // which has no server
			killer := db.Connect(t)
			killAtPoints(t, newShop, db, options, fewPoints(t), func() error { killApply(t, killer, db); return nil })
		}
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

// simulated makes Apply behave as if its process had been killed.
func simulated() error { return errKilled }

// killAtPoints kills Apply at the points that tries reports, and lets it continue.
func killAtPoints(t *testing.T, newShop func(*testing.T, dbtest.DB) shop, db dbtest.DB, options autoinc.PlanOptions, tries func(int) bool, kill func() error) {
	undisturbed := newShop(t, open(t, db.Dialect))
	applyAll(t, undisturbed.conn, plan(t, undisturbed.conn, options), autoinc.ApplyOptions{})
	s := newShop(t, db)
	p := plan(t, s.conn, options)
	reached := make(map[string]bool)
	kills, failures := 0, 0
	ctx := failpoint.WithHook(t.Context(), func(point string) error {
		if reached[point] {
			return nil
		}
		reached[point] = true
		if !tries(len(reached)) {
			return nil
		}
		kills++
		return kill()
	})
	for calls := 0; ; calls++ {
		phase, err := autoinc.Apply(ctx, s.conn, p, autoinc.ApplyOptions{BatchSize: 20})
		if err != nil && !errors.Is(err, autoinc.ErrBusy) { // busy is it until the server has noticed that the last Apply is gone
			failures++
		}
		if failures > kills || calls > 100_000 {
			t.Fatalf("after %d points, with %d failures of %d kills: %v", len(reached), failures, kills, err)
		}
		if err == nil && phase.Name == "" {
			break
		}
	}
	steps := 0
	for _, phase := range p.Phases {
		steps += len(phase.Steps)
	}
	if len(reached) < 2*steps || kills == 0 {
		t.Errorf("%d points for %d steps, and %d kills", len(reached), steps, kills)
	}
	prove(t, s.conn, p)
	require(t, "the end", s.state(t), undisturbed.state(t))
	t.Logf("%d points at %d steps", len(reached), steps)
}

// Two writers continue during every phase. One of them sends no keys until it is
// refused for good, and the other sends keys as soon as that's switched on. Every row
// that was acknowledged must still be there at the end, with the same key.
func TestWriters(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		s := newShop(t, db)
		p := plan(t, s.conn, options)
		conn := writersConn(t, db)
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
		t.Logf("%d rows; refused: %v", len(names), c.errors)
	})
}

// writersConn returns a connection pool for writers. With SQLite, they have to wait
// while a table is being rebuilt.
func writersConn(t *testing.T, db dbtest.DB) *sql.DB {
	t.Helper()
	if db.Dialect == "postgres" {
		db = simple(db)
	}
	conn := db.Connect(t)
	if db.Dialect == "sqlite" {
		conn.SetMaxOpenConns(1)
		dbtest.Exec(t, conn, "PRAGMA busy_timeout = 60000")
	}
	return conn
}
