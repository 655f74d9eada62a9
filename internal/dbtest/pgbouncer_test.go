//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package dbtest

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestPgBouncer(t *testing.T) {
	for _, mode := range []string{"session", "transaction", "statement"} {
		db := Postgres(t)
		mustExec(t, db.Connect(t), "CREATE TABLE kept (n INT)")
		through := db.ThroughPgBouncer(t, mode)
		through.DSN += "&default_query_exec_mode=exec"
		conn := through.Connect(t)
		mustExec(t, conn, insertRow)
		if n := count(t, db.Connect(t)); n != 1 {
			t.Errorf("%d rows", n)
		}
		// There are no transactions in statement mode, and only session mode gives each
		// client its own server process.
		tx, err := conn.Begin()
		if err == nil {
			err = tx.Rollback()
		}
		if (err != nil) != (mode == "statement") {
			t.Errorf("a transaction in %s mode: %v", mode, err)
		}
		first, second := backend(t, pinned(t, conn)), backend(t, pinned(t, conn))
		if shared := first == second; shared != (mode != "session") {
			t.Errorf("two clients share one server process in %s mode: %v", mode, shared)
		}
	}
}

func backend(t *testing.T, conn *sql.Conn) (pid int) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestConfigOfPgBouncer(t *testing.T) {
	cfg, err := pgconn.ParseConfig("postgres://me:it%27s@db:7/orders")
	if err != nil {
		t.Fatal(err)
	}
	const want = `[databases]
x = host='db' port='7' dbname='orders' user='me' password='it''s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 8
unix_socket_dir =
auth_type = any
pool_mode = transaction`
	if got := bouncerConfig(cfg, "x", "transaction", 8); got != want {
		t.Errorf("got %s", got)
	}
}
