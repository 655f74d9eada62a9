package autoinc_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// unlocked repeats f for as long as the server hasn't noticed that a killed Apply is
// gone.
func unlocked(f func() error) error {
	for {
		if err := f(); !errors.Is(err, autoinc.ErrBusy) {
			return err
		}
	}
}

// We kill Apply at one point after another, and reverse everything each time. The catalog
// and the rows must be the same as before.
func TestUndoFromEveryPoint(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		s := newShop(t, db)
		tries := fewPoints(t)
		undoFromPoints(t, s, options, func(n int) bool { return tries(n) && (db.Dialect == "sqlite" || tries(n/25)) })
		requireNumber(t, s.conn, 50, s.sql("SELECT count(*) FROM line JOIN orders ON id = order_id JOIN [Us'er] ON [Order] = orders.user_id"))
		dbtest.Exec(t, s.conn, s.sql("INSERT INTO [Us'er] (boss) VALUES (50)")) // the column must count again
		requireNumber(t, s.conn, 51, s.sql("SELECT max([Order]) FROM [Us'er]"))
	})
}

// The same is true for plans that replace keys, with their rows.
func TestRekeyUndoFromEveryPoint(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, s shop, _ func(int) string) {
		rows, tries := s.rows(t), fewPoints(t)
		undoFromPoints(t, s, s.rekeyOptions(), func(n int) bool { return tries(n) && (s.Dialect == "sqlite" || tries(n/25)) })
		require(t, "the rows", s.rows(t), rows)
	})
}

// undoFromPoints kills Apply at the points that tries reports, and at last lets it complete.
func undoFromPoints(t *testing.T, s shop, options autoinc.PlanOptions, tries func(int) bool) {
	want := s.whole(t)
	p := plan(t, s.conn, options)
	undone, last, worker := 0, 0, int64(0)
	for killed := true; killed; undone++ {
		point := 0
		var at string
		ctx := failpoint.WithHook(t.Context(), func(name string) error {
			if point++; point <= last || !tries(point) {
				return nil
			}
			at, last = name, point
			return errKilled
		})
		err := unlocked(func() error {
			for {
				worker++
				phase, err := autoinc.Apply(ctx, s.conn, p, past(t, worker%1024))
				if err != nil || phase.Name == "" {
					return err
				}
			}
		})
		if killed = errors.Is(err, errKilled); err != nil && !killed {
			t.Fatalf("killed at %s: %v", at, err)
		}
		if failed := unlocked(func() error { return autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}) }); failed != nil {
			t.Fatalf("undo after a kill at %s: %v", at, failed)
		}
		require(t, "the state after a kill at "+at+" and undo", s.whole(t), want)
	}
	t.Logf("reversed %d times", undone)
}

// We kill Undo once at each point. Apply is refused then. Every second time, we cancel Undo and
// complete the plan again. In the end, Undo must have reversed everything.
func TestUndoKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		killUndo(t, newShop(t, db), options)
	})
}

func killUndo(t *testing.T, s shop, options autoinc.PlanOptions) {
	want := s.whole(t)
	p := plan(t, s.conn, options)
	applyAll(t, s.conn, p, autoinc.ApplyOptions{})
	tries := dbtest.Points(t)
	if s.Dialect == "sqlite" { // which has few points, and is fast
		tries = func(int) bool { return true }
	}
	k, canceled := newKilling(t, tries, simulated), 0
	for {
		err := unlocked(func() error { return autoinc.Undo(k, s.conn, p, autoinc.ApplyOptions{}) })
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("after %d kills: %v", k.kills, err)
		}
		before := s.whole(t)
		err = unlocked(func() error { _, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}); return err })
		if !errors.Is(err, autoinc.ErrUnfinished) || !strings.Contains(err.Error(), "--cancel") {
			t.Fatalf("Apply after %d kills of Undo: %v", k.kills, err)
		}
		require(t, "the catalog after a refused Apply", s.whole(t), before)
		if k.kills%2 == 0 {
			continue
		}
		err = unlocked(func() error { return autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{CancelUndo: true}) })
		if errors.Is(err, autoinc.ErrUnfinished) && p.Online {
			continue // columns can't be replaced again before all of them are narrow
		}
		dbtest.NoError(t, err)
		applyAll(t, s.conn, p, autoinc.ApplyOptions{})
		prove(t, s.conn, p)
		canceled++
	}
	require(t, "the catalog", s.whole(t), want)
	t.Logf("%d kills at %d points, %d of them canceled", k.kills, len(k.points), canceled)
}

// If an undo is cancelled while it makes an old table again, nothing is left of that table.
func TestCancelUndoOfCopies(t *testing.T) {
	t.Parallel()
	s := newHousehold(t, open(t, "mysql"), "int")
	p := plan(t, s.conn, s.rekeyOptions())
	applyAllIDs(t, s, p)
	want, copies := s.whole(t), "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'snowkey_new%'"
	ctx := failpoint.WithHook(t.Context(), func(string) error {
		if number(t, s.conn, copies) > 0 {
			return errKilled
		}
		return nil
	})
	if err := autoinc.Undo(ctx, s.conn, p, autoinc.ApplyOptions{}); !errors.Is(err, errKilled) {
		t.Fatalf("nothing is made again: %v", err)
	}
	dbtest.NoError(t, unlocked(func() error { return autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{CancelUndo: true}) }))
	requireNumber(t, s.conn, 0, copies)
	applyAllIDs(t, s, p)
	require(t, "the catalog after apply", withoutProgress(s.whole(t)), withoutProgress(want))
	prove(t, s.conn, p)
}

// withoutProgress removes the lines about the table in which Apply records its
// progress.
func withoutProgress(state string) string {
	var b strings.Builder
	for line := range strings.Lines(state) {
		if !strings.Contains(line, "snowkey_migration") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Each phase can be reversed on its own. However, once there's a generated key, the
// plan must not be reversed.
func TestUndoPhases(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		s := newShop(t, db)
		p := plan(t, s.conn, options)
		var states []string
		for _, phase := range p.Phases {
			states = append(states, withoutProgress(s.whole(t)))
			dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: phase.Name}))(t)
		}
		least := strconv.FormatInt(p.Floor, 10) // the smallest key that may be a generated one
		dbtest.Exec(t, s.conn, "INSERT INTO orders (id, user_id) VALUES ("+least+", 1)")
		before := s.whole(t)
		err := autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{})
		if !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), least) {
			t.Errorf("with a generated key: %v", err)
		}
		require(t, "the state", s.whole(t), before)
		dbtest.Exec(t, s.conn, "DELETE FROM orders WHERE id = "+least)
		dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{CancelUndo: true})) // there is nothing to cancel
		for i, phase := range slices.Backward(p.Phases) {
			var would []string
			dry := autoinc.ApplyOptions{Phase: phase.Name, DryRun: true, Progress: func(p autoinc.Progress) { would = append(would, p.Step.ID) }}
			if err := autoinc.Undo(t.Context(), s.conn, p, dry); err != nil || len(would) != len(phase.Steps) {
				t.Errorf("a dry run of %s: %q, %v", phase.Name, would, err)
			}
			dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: phase.Name}))
			require(t, "the state before "+string(phase.Name), withoutProgress(s.whole(t)), states[i])
		}
		require(t, "the state at the end, without a record", s.whole(t), states[0])
		dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{})) // there is nothing to reverse
		if err := autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: "widden"}); !errors.Is(err, autoinc.ErrPhase) {
			t.Errorf("a phase that does not exist: %v", err)
		}
	})
}

// Rows that stop a plan, or that the old columns can't hold, are found before the first
// step, and nothing is changed. Once such a row is gone, the same command works.
func TestRowsInTheWay(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "sqlite" {
			return // nothing is narrow there, and TestRefusals has orphans
		}
		s := newShop(t, db)
		orphan, mend := "SET SESSION foreign_key_checks = 0; INSERT INTO line (order_id, no, tenant, user_id) VALUES (7777777, 1, 1, 7); SET SESSION foreign_key_checks = 1", "DELETE FROM line WHERE order_id = 7777777"
		large, small := "INSERT INTO orders (id, user_id) VALUES (4294967296, 1); INSERT INTO line VALUES (4294967296, 1, 1, 1)", "DELETE FROM line WHERE order_id = 4294967296; DELETE FROM orders WHERE id = 4294967296"
		if db.Dialect == "postgres" {
			orphan = "SET session_replication_role = replica; INSERT INTO line (order_id, no, tenant, user_id) VALUES (7777777, 1, 1, 7); RESET session_replication_role"
			large = "SELECT setval('orders_id_seq', 2147483648); INSERT INTO orders (user_id) VALUES (1); INSERT INTO line (order_id, no, tenant, user_id) SELECT max(id), 1, 1, 1 FROM orders"
			small = "DELETE FROM line WHERE order_id > 2147483647; DELETE FROM orders WHERE id > 2147483647"
		}
		s.conn.SetMaxOpenConns(1)
		exec := func(statements string) { execAll(t, s.conn, statements) }
		refused := func(what, says string, try func() error) {
			t.Helper()
			before := withoutProgress(s.whole(t))
			if err := try(); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", what, err)
			}
			require(t, "the state after "+what, withoutProgress(s.whole(t)), before)
		}
		want := s.whole(t)
		exec(orphan)
		refused("a plan with an orphan", "that is not there", func() error { _, err := autoinc.NewPlan(t.Context(), s.conn, options); return err })
		exec(mend)
		p := plan(t, s.conn, options)
		exec(orphan)
		apply := func() error { _, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}); return err }
		undo := func() error { return autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}) }
		refused("apply with an orphan", "7777777", apply)
		exec(mend)
		dbtest.NoError(t, apply())
		exec(orphan)
		refused("undo with an orphan", "7777777", undo)
		exec(mend)
		exec(large)
		refused("undo with a large counted key", "nothing was changed", undo)
		dbtest.NoError(t, apply()) // nor is this the end of the plan
		exec(small)
		if db.Dialect == "postgres" {
			refused("undo with a large counter", "2147483649", undo)
			exec("SELECT setval('orders_id_seq', 50)")
		}
		dbtest.NoError(t, undo())
		require(t, "the state", s.whole(t), want)
	})
}

// A driver may have prepared Undo's queries before the types of the columns were changed.
func TestUndoPreparedBefore(t *testing.T) {
	t.Parallel()
	_, conn := one(t, "postgres")
	dbtest.Exec(t, conn, "CREATE TABLE t (id serial PRIMARY KEY)")
	p := plan(t, conn, autoinc.PlanOptions{Online: true})
	_, err := autoinc.Apply(failpoint.WithHook(t.Context(), func(string) error { return errKilled }), conn, p, autoinc.ApplyOptions{})
	for range 2 {
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{DryRun: true}))
		_, err = autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{})
	}
}

// AUTOINCREMENT of SQLite never gives a number again. After an undo, each table counts from
// where it stood, even if its last rows were deleted. So does a child whose keys stay, all the
// time.
func TestUndoKeepsCounters(t *testing.T) {
	t.Parallel()
	s := shop{DB: dbtest.SQLite(t)}
	s.conn = s.Connect(t)
	for _, table := range []string{"a", "`b`", "[never used]"} {
		dbtest.Exec(t, s.conn, "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY AUTOINCREMENT)")
	}
	dbtest.Exec(t, s.conn, "CREATE TABLE child (id INTEGER PRIMARY KEY AUTOINCREMENT, a INTEGER REFERENCES a)",
		"INSERT INTO a VALUES (1), (77)", "INSERT INTO b VALUES (1), (5)", "INSERT INTO child VALUES (9, 1)", "DELETE FROM a WHERE id > 1", "DELETE FROM b WHERE id > 1", "DELETE FROM child")
	before := s.whole(t)
	for _, options := range []autoinc.PlanOptions{{}, {Rekey: &autoinc.RekeyOptions{From: historyFrom, To: historyTo}, Except: []catalog.Name{{Name: "child"}}}} {
		p := plan(t, s.conn, options)
		applyAllIDs(t, s, p)
		requireNumber(t, s.conn, 9, "SELECT seq FROM sqlite_sequence WHERE name = 'child'")
		dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
		require(t, "the catalog and the counters", s.whole(t), before)
	}
}
