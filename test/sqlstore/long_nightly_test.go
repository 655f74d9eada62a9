//go:build nightly

package sqlstore_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyLongTransactionsThroughPgBouncer covers the pool modes. In statement mode, PgBouncer
// refuses transactions. Before version 1.21, prepared statements need session mode.
func TestNightlyLongTransactionsThroughPgBouncer(t *testing.T) {
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			transactions(t, pgBouncer(t, mode).With("default_query_exec_mode=exec"), 5, 5, 10)
		})
	}
	t.Run("statement", func(t *testing.T) {
		t.Parallel()
		db := pgBouncer(t, "statement").With("default_query_exec_mode=exec")
		pool, _ := openPool(t, db, db.Connect(t), time.Second)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			dbtest.Must(pool.Next(ctx))(t)
			cancel()
		}
	})
}

// TestNightlyConnectionsEnd closes the connection that the store has reserved. One connection
// of the pool is free, so it can take another one.
func TestNightlyConnectionsEnd(t *testing.T) {
	type test struct {
		name, settings string
		window         time.Duration
		change         func(*sql.DB)
		kill           string // closes the connections that are not in a transaction
	}
	for dialect, tests := range map[string][]test{
		"postgres": {
			{name: "idle_session_timeout", settings: "idle_session_timeout=200", window: time.Second},
			{name: "SetConnMaxLifetime", window: time.Second, change: func(db *sql.DB) { db.SetConnMaxLifetime(time.Second) }},
			{name: "killed", window: time.Second, kill: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND pid <> pg_backend_pid()"},
		},
		"mysql": {
			{name: "wait_timeout", settings: "wait_timeout=1", window: 6 * time.Second},
			{name: "SetConnMaxLifetime", window: time.Second, change: func(db *sql.DB) { db.SetConnMaxLifetime(time.Second) }},
			{name: "killed", window: time.Second, kill: "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND id NOT IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx)"},
		},
	} {
		for _, test := range tests {
			t.Run(dialect+" "+test.name, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, dialect)
				if db.Version != "" && test.name == "idle_session_timeout" {
					db = db.Since(t, 14)
				}
				admin := db.Connect(t)
				if test.settings != "" {
					db = db.With(test.settings)
				}
				conn := db.Connect(t)
				conn.SetMaxOpenConns(5)
				if test.change != nil {
					test.change(conn)
				}
				pool, _ := openPool(t, db, conn, test.window)
				stop := make(chan struct{})
				defer close(stop)
				go func() {
					for test.kill != "" {
						select {
						case <-stop:
							return
						case <-time.After(300 * time.Millisecond):
						}
						for _, id := range dbtest.Rows(t, admin, test.kill) {
							if dialect == "mysql" {
								admin.Exec("KILL " + id) // it may have ended
							}
						}
					}
				}()
				for i, did := range runImports(t, conn, pool, dialect, 3, 15*time.Second, time.Minute) {
					if did.err != nil {
						t.Errorf("transaction %d, after %d rows: %v", i, did.rows, did.err)
					}
				}
			})
		}
	}
}
