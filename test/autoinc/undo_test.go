package autoinc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// before is state without the quotes around names, because SQLite changes those when it
// renames a table.
func (s shop) before(t *testing.T) string {
	return strings.NewReplacer(`"`, "", "[", "", "]", "", "`", "").Replace(s.state(t))
}

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
		var key int
		if err := s.conn.QueryRow(s.sql("SELECT max([Order]) FROM [Us'er]")).Scan(&key); err != nil || key != 51 {
			t.Errorf("the next key is %d: %v", key, err)
		}
	})
}

// undoFromPoints kills Apply at the points that tries reports, and at last lets it complete.
func undoFromPoints(t *testing.T, s shop, options autoinc.PlanOptions, tries func(int) bool) {
	want := s.before(t)
	p := plan(t, s.conn, options)
	undone, last := 0, 0
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
				phase, err := autoinc.Apply(ctx, s.conn, p, autoinc.ApplyOptions{BatchSize: 20})
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
		require(t, "the state after a kill at "+at+" and undo", s.before(t), want)
	}
	t.Logf("reversed %d times", undone)
}

// We kill Undo once at each point, after which it must be able to continue.
func TestUndoKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		killUndo(t, newShop(t, db), options)
	})
}

func killUndo(t *testing.T, s shop, options autoinc.PlanOptions) {
	want := s.before(t)
	p := plan(t, s.conn, options)
	applyAll(t, s.conn, p, autoinc.ApplyOptions{})
	tries, reached, kills := dbtest.Points(t), make(map[string]bool), 0
	if s.Dialect != "sqlite" {
		tries = fewPoints(t)
	}
	ctx := failpoint.WithHook(t.Context(), func(point string) error {
		if reached[point] {
			return nil
		}
		reached[point] = true
		if !tries(len(reached)) {
			return nil
		}
		kills++
		return errKilled
	})
	for {
		err := unlocked(func() error { return autoinc.Undo(ctx, s.conn, p, autoinc.ApplyOptions{}) })
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("after %d kills: %v", kills, err)
		}
		err = unlocked(func() error { _, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}); return err })
		if !errors.Is(err, autoinc.ErrUnfinished) {
			t.Fatalf("Apply after %d kills of Undo: %v", kills, err)
		}
	}
	require(t, "the state", s.before(t), want)
	t.Logf("%d kills at %d points", kills, len(reached))
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
			states = append(states, withoutProgress(s.before(t)))
			dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: phase.Name}))(t)
		}
		least := strconv.FormatInt(p.Floor, 10) // the smallest key that may be a generated one
		dbtest.Exec(t, s.conn, "INSERT INTO orders (id, user_id) VALUES ("+least+", 1)")
		before := s.state(t)
		err := autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{})
		if !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), least) {
			t.Errorf("with a generated key: %v", err)
		}
		require(t, "the state", s.state(t), before)
		dbtest.Exec(t, s.conn, "DELETE FROM orders WHERE id = "+least)
		for i, phase := range slices.Backward(p.Phases) {
			var would []string
			dry := autoinc.ApplyOptions{Phase: phase.Name, DryRun: true, Progress: func(p autoinc.Progress) { would = append(would, p.Step.ID) }}
			if err := autoinc.Undo(t.Context(), s.conn, p, dry); err != nil || len(would) != len(phase.Steps) {
				t.Errorf("a dry run of %s: %q, %v", phase.Name, would, err)
			}
			dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: phase.Name}))
			require(t, "the state before "+string(phase.Name), withoutProgress(s.before(t)), states[i])
		}
		require(t, "the state at the end, without a record", s.before(t), states[0])
		if err := autoinc.Undo(context.Background(), s.conn, p, autoinc.ApplyOptions{}); err != nil {
			t.Errorf("with nothing to reverse: %v", err)
		}
		if err := autoinc.Undo(context.Background(), s.conn, p, autoinc.ApplyOptions{Phase: "widden"}); !errors.Is(err, autoinc.ErrPhase) {
			t.Errorf("a phase that does not exist: %v", err)
		}
	})
}

// In every phase, Apply or Undo is killed on its way. Whatever command comes next must
// either do its work or change nothing, and from there the plan can be completed, and
// reversed.
func TestNoDeadEnds(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		s := newShop(t, db)
		want := s.before(t)
		p := plan(t, s.conn, options)
		tries, n := dbtest.Points(t), 0
		for _, phase := range p.Phases {
			for _, failed := range []string{"apply", "undo"} {
				for _, next := range []string{"apply", "undo", "cancel"} {
					if n++; len(phase.Steps) == 0 || !tries(n) {
						continue
					}
					at := fmt.Sprintf("%s of %s, then %s", failed, phase.Name, next)
					deadEnd(t, s, p, phase.Name, failed, next, 3+n%7, at)
					require(t, "the state after "+at, s.before(t), want)
				}
			}
		}
	})
}

func deadEnd(t *testing.T, s shop, p *autoinc.Plan, phase autoinc.PhaseName, failed, next string, points int, at string) {
	ctx := failpoint.WithHook(t.Context(), func(string) error {
		if points--; points == 0 {
			return errKilled
		}
		return nil
	})
	for _, earlier := range p.Phases {
		if earlier.Name == phase && failed == "apply" {
			break
		}
		dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: earlier.Name}))(t)
		if earlier.Name == phase {
			break
		}
	}
	apply := func(ctx context.Context) error {
		return unlocked(func() error { _, err := autoinc.Apply(ctx, s.conn, p, autoinc.ApplyOptions{}); return err })
	}
	undo := func(ctx context.Context) error {
		return unlocked(func() error { return autoinc.Undo(ctx, s.conn, p, autoinc.ApplyOptions{}) })
	}
	cancel := func() error {
		return unlocked(func() error { return autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{CancelUndo: true}) })
	}
	err := map[string]func(context.Context) error{"apply": apply, "undo": undo}[failed](ctx)
	if err != nil && !errors.Is(err, errKilled) { // a phase may have fewer points
		t.Fatalf("%s: %v", at, err)
	}
	killed := err != nil
	switch {
	case next == "apply" && failed == "undo" && killed:
		before := s.state(t)
		if err := apply(t.Context()); !errors.Is(err, autoinc.ErrUnfinished) || !strings.Contains(err.Error(), "--cancel") {
			t.Errorf("%s: %v", at, err)
		}
		require(t, "the state after a refused apply", s.state(t), before)
	case next == "apply":
		dbtest.NoError(t, apply(t.Context()))
	case next == "undo":
		dbtest.NoError(t, undo(t.Context()))
		return
	}
	if err := cancel(); errors.Is(err, autoinc.ErrUnfinished) && p.Online {
		dbtest.NoError(t, undo(t.Context())) // columns can't be replaced again before all of them are narrow
	} else if err != nil {
		t.Errorf("%s: %v", at, err)
	}
	applyAll(t, s.conn, p, autoinc.ApplyOptions{})
	prove(t, s.conn, p)
	dbtest.NoError(t, undo(t.Context()))
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
		exec := func(sql string) {
			for statement := range strings.SplitSeq(sql, "; ") {
				dbtest.Exec(t, s.conn, statement)
			}
		}
		refused := func(what, says string, try func() error) {
			t.Helper()
			before := withoutProgress(s.state(t))
			if err := try(); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", what, err)
			}
			require(t, "the state after "+what, withoutProgress(s.state(t)), before)
		}
		want := s.before(t)
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
		require(t, "the state", s.before(t), want)
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
