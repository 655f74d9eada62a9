package autoinc_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	rows, err := s.conn.Query(queries[s.Dialect])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		b.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// modes runs a test on each database, with the plans that it has: online and offline on
// Postgres, a single one on SQLite. Those of MySQL differ in two clauses, so the online
// plan is only tried at night, by TestSchemas and by TestStandIns.
func modes(t *testing.T, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	modesExcept(t, "", test)
}

func modesExcept(t *testing.T, offline string, test func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions)) {
	for _, dialect := range dbtest.Databases(t) {
		for _, online := range []bool{false, true} {
			if online && dialect == "sqlite" || !dbtest.Nightly && (online && dialect == "mysql" || !online && dialect == offline) {
				continue
			}
			t.Run(dialect+map[bool]string{true: " online"}[online], func(t *testing.T) {
				t.Parallel()
				test(t, dbtest.Open(t, dialect), autoinc.PlanOptions{Online: online})
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
		if options.Online { // which has three times as many
			tries = fewPoints(t)
		}
		killAtPoints(t, newShop, db, options, tries)
	})
}

// fewPoints is like dbtest.Points, but reports only every 25th point if not all. It is for
// tests that begin anew for each point, and for long plans.
func fewPoints(t *testing.T) func(n int) bool {
	tries := dbtest.Points(t)
	return func(n int) bool { return tries(n) && tries(n/5) }
}

// killAtPoints kills Apply at the points that tries reports, and lets it continue.
func killAtPoints(t *testing.T, newShop func(*testing.T, dbtest.DB) shop, db dbtest.DB, options autoinc.PlanOptions, tries func(int) bool) {
	undisturbed := newShop(t, dbtest.Open(t, db.Dialect))
	applyAll(t, undisturbed.conn, plan(t, undisturbed.conn, options), autoinc.ApplyOptions{})
	s := newShop(t, db)
	p := plan(t, s.conn, options)
	reached := make(map[string]bool)
	ctx := failpoint.WithHook(t.Context(), func(point string) error {
		if reached[point] {
			return nil
		}
		reached[point] = true
		if tries(len(reached)) {
			return errKilled
		}
		return nil
	})
	for calls := 0; ; calls++ {
		phase, err := autoinc.Apply(ctx, s.conn, p, autoinc.ApplyOptions{BatchSize: 20})
		if errors.Is(err, autoinc.ErrBusy) {
			continue // the server hasn't noticed yet that the last Apply is gone
		}
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("after %d points: %v", len(reached), err)
		}
		if err == nil && phase.Name == "" {
			break
		}
		if calls > 100_000 {
			t.Fatal("no end")
		}
	}
	steps := 0
	for _, phase := range p.Phases {
		steps += len(phase.Steps)
	}
	if len(reached) < 2*steps {
		t.Errorf("%d points for %d steps", len(reached), steps)
	}
	if v := verify(t, s.conn, p); v.Err() != nil {
		t.Errorf("not proven:\n%s", verdicts(t, v))
	}
	require(t, "the end", s.state(t), undisturbed.state(t))
	t.Logf("%d points at %d steps", len(reached), steps)
}

// For SQLite's rebuilds we also test each point on its own, starting from the
// beginning. A kill must not leave anything behind except what was committed.
func TestKilledOnce(t *testing.T) {
	t.Parallel()
	var points []string
	s := newShop(t, dbtest.SQLite(t))
	applyAllIn(failpoint.WithHook(t.Context(), func(point string) error {
		if strings.HasSuffix(point, " drop/1") || len(points) > 0 && !strings.HasPrefix(points[len(points)-1], "after ") {
			points = append(points, point)
		}
		return nil
	}), t, s.conn, plan(t, s.conn, autoinc.PlanOptions{}), autoinc.ApplyOptions{})
	want := s.state(t)
	if len(points) < 8 {
		t.Fatalf("%q", points)
	}
	tries := dbtest.Points(t)
	for i, at := range points {
		if !tries(i) && i < len(points)-2 { // always try the commit and what comes after it
			continue
		}
		s := newShop(t, dbtest.SQLite(t))
		p := plan(t, s.conn, autoinc.PlanOptions{})
		var err error
		for err == nil {
			_, err = autoinc.Apply(failpoint.WithHook(t.Context(), func(point string) error {
				if point == at {
					return errKilled
				}
				return nil
			}), s.conn, p, autoinc.ApplyOptions{})
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		var n int
		if err := s.conn.QueryRow(s.sql("SELECT count(*) FROM [Us'er]")).Scan(&n); err != nil || n != 50 {
			t.Errorf("after the kill at %s there are %d rows: %v", at, n, err)
		}
		applyAll(t, s.conn, p, autoinc.ApplyOptions{})
		require(t, "the end after "+at, s.state(t), want)
	}
}

// Two writers continue during every phase. One of them sends no keys until it is
// refused for good, and the other sends keys as soon as that's switched on. Every row
// that was acknowledged must still be there at the end, with the same key.
func TestWriters(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		s := newShop(t, db)
		p := plan(t, s.conn, options)
		w := &writers{shop: s, conn: writersConn(t, db)}
		w.start(t)
		for {
			w.writeOn(t)
			phase, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{BatchSize: 10, LockTimeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if phase.Name == autoinc.SwitchOn {
				w.generate.Store(true)
			}
			if phase.Name == "" {
				break
			}
		}
		w.writeOn(t)
		w.stop()
		if w.refused.Load() == 0 {
			t.Error("the writer that sends no key was never refused")
		}
		for _, name := range slices.Sorted(slices.Values(w.names)) {
			var n, orders int
			err := s.conn.QueryRow(s.sql("SELECT count(*), (SELECT count(*) FROM orders WHERE user_id = max(u.[Order])) FROM [Us'er] u WHERE [nöme] = '%s'", name)).Scan(&n, &orders)
			if err != nil || n != 1 || orders != 1 {
				t.Errorf("%s: %d rows with %d orders, %v", name, n, orders, err)
			}
		}
		if v := verify(t, s.conn, p); v.Err() != nil {
			t.Errorf("not proven:\n%s", verdicts(t, v))
		}
		t.Logf("%d rows, %d refused", len(w.names), w.refused.Load())
	})
}

// writersConn returns a connection pool for writers. With SQLite, they have to wait
// while a table is being rebuilt.
func writersConn(t *testing.T, db dbtest.DB) *sql.DB {
	t.Helper()
	if db.Dialect == "postgres" { // otherwise prepared statements fail once when a type changes
		db = db.With("default_query_exec_mode=simple_protocol")
	}
	conn := db.Connect(t)
	if db.Dialect == "sqlite" {
		conn.SetMaxOpenConns(1)
		exec(t, conn, "PRAGMA busy_timeout = 60000")
	}
	return conn
}

type writers struct {
	shop
	conn     *sql.DB
	generate atomic.Bool
	refused  atomic.Int64
	legacy   atomic.Int64 // rounds of the writer that sends no keys
	new      atomic.Int64 // rounds of the writer that sends keys
	next     atomic.Int64
	stop     func()
	sync.Mutex
	names []string // of acknowledged users, each of which has an order
}

func (w *writers) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	w.next.Store(7_350_000_000_000_000_001)
	group.Go(func() { w.write(ctx, "legacy", false, &w.legacy) })
	group.Go(func() { w.write(ctx, "new", true, &w.new) })
	w.stop = func() { cancel(); group.Wait() }
	t.Cleanup(func() { w.stop() })
}

// writeOn waits until both writers have written for a number of rounds.
func (w *writers) writeOn(t *testing.T) {
	t.Helper()
	legacy, other := w.legacy.Load()+8, w.new.Load()+8
	for w.legacy.Load() < legacy || w.new.Load() < other {
		select {
		case <-t.Context().Done():
			t.Fatal("no row is written any more")
		case <-time.After(time.Millisecond):
		}
	}
}

// write writes users, each with an order in the same transaction. An error means that a
// row was refused, but no acknowledged row is lost.
func (w *writers) write(ctx context.Context, who string, sends bool, rounds *atomic.Int64) {
	for i := 0; ctx.Err() == nil; i++ {
		rounds.Add(1)
		time.Sleep(time.Millisecond) // SQLite's writers don't queue, so without a pause one of them could starve
		if sends && !w.generate.Load() {
			continue
		}
		name := fmt.Sprintf("%s %d", who, i)
		if err := w.writeOne(ctx, name, sends); err != nil {
			w.refused.Add(1)
			continue
		}
		w.Lock()
		w.names = append(w.names, name)
		w.Unlock()
	}
}

func (w *writers) writeOne(ctx context.Context, name string, sends bool) error {
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	user := w.sql("INSERT INTO [Us'er] ([nöme]) VALUES ('%s')", name)
	order := w.sql("INSERT INTO orders (user_id) SELECT [Order] FROM [Us'er] WHERE [nöme] = '%s'", name)
	if sends {
		key := w.next.Add(2)
		user = w.sql("INSERT INTO [Us'er] ([Order], [nöme]) VALUES (%d, '%s')", key, name)
		order = w.sql("INSERT INTO orders (id, user_id) VALUES (%d, %d)", key+1, key)
	}
	for _, statement := range []string{user, order} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// The online way must end in the same state as the other way, except for the order of
// the columns.
func TestOnlineEndsAsOffline(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Databases(t) {
		var ends []string
		for _, online := range []bool{false, true} {
			s := newShop(t, dbtest.Open(t, dialect))
			if dialect == "postgres" {
				exec(t, s.conn,
					"CREATE INDEX wide ON line (user_id DESC, no) INCLUDE (order_id)",
					"COMMENT ON COLUMN orders.id IS 'it''s'", "COMMENT ON VIEW customers IS E'two\n\n-- end: widen/1\nlines'", "COMMENT ON COLUMN customers.id IS E'a\n\nb'",
					"GRANT SELECT ON customers TO PUBLIC", "ALTER VIEW regulars SET (security_barrier = true)",
					"ALTER TABLE orders ALTER COLUMN user_id SET DEFAULT 7",
					s.sql("ALTER TABLE line ADD CONSTRAINT late FOREIGN KEY (user_id) REFERENCES [Us'er] MATCH FULL ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED"))
			}
			p := plan(t, s.conn, autoinc.PlanOptions{Online: online})
			applyAll(t, s.conn, p, autoinc.ApplyOptions{BatchSize: 1})
			if v := verify(t, s.conn, p); v.Err() != nil {
				t.Errorf("not proven:\n%s", verdicts(t, v))
			}
			ends = append(ends, s.state(t))
			if dialect == "postgres" {
				var comments string
				if err := s.conn.QueryRow("SELECT string_agg(description, '|' ORDER BY description) FROM pg_description WHERE objoid IN ('orders'::regclass, 'customers'::regclass)").Scan(&comments); err != nil || comments != "a\n\nb|it's|two\n\n-- end: widen/1\nlines" {
					t.Errorf("the comments are %q: %v", comments, err)
				}
			}
		}
		require(t, dialect, ends[1], ends[0])
	}
}
