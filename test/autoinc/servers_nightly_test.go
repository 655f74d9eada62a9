//go:build nightly

package autoinc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// A backfill must pause while a standby lags behind or while too many sessions are busy, and
// then continue without help.
func TestBackfillWaits(t *testing.T) {
	one(t, "postgres")
	t.Parallel()
	primary := dbtest.Durable(t, "postgres")
	conn := primary.Connect(t)
	dbtest.Exec(t, conn, "ALTER SYSTEM SET wal_receiver_status_interval = '1s'", // applies to the standby too
		"CREATE TABLE users (id serial PRIMARY KEY)", "INSERT INTO users SELECT nextval('users_id_seq') FROM generate_series(1, 50000)")
	p := plan(t, conn, autoinc.PlanOptions{Online: true})
	standby := dbtest.StandbyOf(t, primary).Connect(t)
	stopped, pauses, busy := false, 0, 0
	sleep, wake := context.WithCancel(t.Context())
	defer wake()
	_, err := autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{BatchSize: 500, Pause: 30 * time.Millisecond, MaxLag: 300 * time.Millisecond, MaxActive: 1, Progress: func(p autoinc.Progress) {
		switch {
		case p.Event == autoinc.Filled && !stopped:
			stopped = true
			dbtest.Exec(t, standby, "SELECT pg_wal_replay_pause()")
			for range 2 {
				go conn.ExecContext(sleep, "SELECT pg_sleep(3600)")
			}
		case p.Event == autoinc.Retried && strings.Contains(p.Err.Error(), "2 sessions are running"):
			busy++
			wake()
		case p.Event == autoinc.Retried && strings.Contains(p.Err.Error(), "a replica is"):
			// If the machine is busy, the standby may already lag before that.
			if stopped {
				pauses++
				dbtest.Exec(t, standby, "SELECT pg_wal_replay_resume()")
			}
		}
	}})
	if err != nil || pauses == 0 || busy == 0 {
		t.Errorf("%d pauses for the standby, %d for sessions: %v", pauses, busy, err)
	}
}

// Apply must refuse to run on a server that doesn't accept writes.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	one(t, "mysql") // on Postgres, we can't make a plan on a standby without its primary
	conn := dbtest.Durable(t, "mysql", "read_only=1").Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)") // works because we're root
	p := plan(t, conn, autoinc.PlanOptions{})
	if _, err := autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{}); !errors.Is(err, autoinc.ErrPlan) || !strings.Contains(err.Error(), "connect to the primary") {
		t.Errorf("got %v", err)
	}
}

// We kill the plan for partitioned tables and let it continue. We also reverse it from
// points all along the way, and kill it on the way back.
func TestPartitionsKilled(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]func(*testing.T, dbtest.DB){
		"apply": func(t *testing.T, db dbtest.DB) {
			killAtPoints(t, partitionedShop, db, partitioned, func(int) bool { return true }, simulated)
		},
		"undo from": func(t *testing.T, db dbtest.DB) {
			s := partitionedShop(t, db)
			rows := s.rows(t)
			undoFromPoints(t, s, partitioned, func(n int) bool { return n%20 == 0 }) // each takes two seconds
			require(t, "the rows", s.rows(t), rows)
		},
		"undo": func(t *testing.T, db dbtest.DB) { killUndo(t, partitionedShop(t, db), partitioned) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			db, _ := one(t, "postgres")
			test(t, db)
		})
	}
}
