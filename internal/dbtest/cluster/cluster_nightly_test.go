//go:build nightly && unix

package cluster

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const insertRow = "INSERT INTO kept VALUES (1)"

func mustExec(t *testing.T, conn *sql.DB, statement string) {
	t.Helper()
	if _, err := conn.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func read(t *testing.T, conn interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string) (n int) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestNightlyPgBouncer(t *testing.T) {
	for _, mode := range []string{"session", "transaction", "statement"} {
		db := dbtest.Postgres(t)
		mustExec(t, db.Connect(t), "CREATE TABLE kept (n INT)")
		conn := PgBouncer(t, db, mode).With("default_query_exec_mode=exec").Connect(t)
		mustExec(t, conn, insertRow)
		if n := read(t, db.Connect(t), "SELECT COUNT(*) FROM kept"); n != 1 {
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
		var pids [2]int
		for i := range pids {
			client, err := conn.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			pids[i] = read(t, client, "SELECT pg_backend_pid()")
		}
		if shared := pids[0] == pids[1]; shared != (mode != "session") {
			t.Errorf("two clients share one server process in %s mode: %v", mode, shared)
		}
	}
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
	if got := bouncerConfig(cfg, "x", "transaction", "8"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestNightlyPgpool(t *testing.T) {
	primary := dbtest.Durable(t, "postgres")
	conn := primary.Connect(t)
	mustExec(t, conn, "CREATE TABLE kept (n INT)")
	standby := dbtest.StandbyOf(t, primary, "recovery_min_apply_delay = '1min'")
	through := Pgpool(t, primary, standby).Connect(t)
	mustExec(t, through, insertRow)
	if n := read(t, conn, "SELECT COUNT(*) FROM kept"); n != 1 {
		t.Errorf("the primary has %d rows", n)
	}
	if n := read(t, through, "SELECT COUNT(*) FROM kept"); n != 0 {
		t.Errorf("%d rows; the read did not go to the standby, which lags", n)
	}
}

func TestNightlyHAProxy(t *testing.T) {
	primary, process := dbtest.Killable(t, "postgres")
	mustExec(t, primary.Connect(t), "CREATE TABLE kept (n INT)")
	standby := dbtest.StandbyOf(t, primary)
	through := HAProxy(t, primary, standby.DB).Connect(t)
	mustExec(t, through, insertRow)
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	await(t, "HAProxy to find the new primary", func() bool {
		_, err := through.Exec(insertRow)
		return err == nil
	})
	if n := read(t, standby.Connect(t), "SELECT COUNT(*) FROM kept"); n != 2 {
		t.Errorf("the promoted standby has %d rows", n)
	}
}
