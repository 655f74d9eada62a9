package sqlsession_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// backend returns the number of the connection that a statement uses.
func backend(ctx context.Context, db *sql.DB) (pid int, err error) {
	err = sqlsession.Read(ctx, db, sqldialect.Postgres, sqlsession.Settings{}, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	})
	return pid, err
}

// TestReserved uses a reserved connection while the application has all others, and a
// connection of the pool while another statement keeps the reserved one for long.
func TestReserved(t *testing.T) {
	db := dbtest.Postgres(t).Connect(t)
	db.SetMaxOpenConns(3)
	release, warning := sqlsession.Reserve(db)
	release2, _ := sqlsession.Reserve(db)
	if warning != "" {
		t.Error(warning)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reserved := dbtest.Must(backend(ctx, db))(t)
	one := dbtest.Must(db.Conn(ctx))(t)
	defer one.Close()

	// A statement waits for a lock.
	dbtest.Must(one.ExecContext(ctx, "SELECT pg_advisory_lock(1)"))(t)
	locked := make(chan error, 1)
	go func() {
		locked <- sqlsession.Read(ctx, db, sqldialect.Postgres, sqlsession.Settings{}, func(conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(1)")
			return err
		})
	}()
	dbtest.Await(t, "the statement to wait", func() (waits bool) {
		dbtest.NoError(t, one.QueryRowContext(ctx, "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'", reserved).Scan(&waits))
		return waits
	})
	if pid, err := backend(ctx, db); err != nil || pid == reserved {
		t.Errorf("while the connection %d waits for a lock: %d, %v", reserved, pid, err)
	}
	dbtest.Must(one.ExecContext(ctx, "SELECT pg_advisory_unlock(1)"))(t)
	dbtest.NoError(t, <-locked)

	// The application has all other connections.
	two := dbtest.Must(db.Conn(ctx))(t)
	defer two.Close()
	for range 10 {
		if pid, err := backend(ctx, db); err != nil || pid != reserved {
			t.Errorf("got the connection %d, %v; want %d", pid, err, reserved)
		}
	}

	// One of the two users is still there, and then none.
	release()
	release()
	if n := db.Stats().InUse; n != 3 {
		t.Errorf("%d connections are in use, want 3", n)
	}
	release2()
	if n := db.Stats().InUse; n != 2 {
		t.Errorf("after the release %d connections are in use, want 2", n)
	}
	three := dbtest.Must(db.Conn(ctx))(t)
	defer three.Close()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err := backend(short, db)
	if _, ok := errors.AsType[*leased.BlockedError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a connection: %v", err)
	}
}
