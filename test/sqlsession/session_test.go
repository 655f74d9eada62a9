package sqlsession_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// An ending is a context that ends the n-th time that anyone checks it.
type ending struct {
	context.Context
	cancel context.CancelFunc
	n      atomic.Int32
}

func (e *ending) asked() {
	if e.n.Add(-1) == 0 {
		e.cancel()
	}
}

func (e *ending) Done() <-chan struct{} { defer e.asked(); return e.Context.Done() }
func (e *ending) Err() error            { defer e.asked(); return e.Context.Err() }

// The context ends before, during and between the statements of a write. In that case,
// a driver may report an error even though SQLite has executed the statement, or no
// error even though it has left the statement out. If this leaves a transaction open,
// no other connection can write.
func TestContextEndsDuringASQLiteWrite(t *testing.T) {
	db := dbtest.SQLite(t)
	db.DSN += "&_pragma=busy_timeout(0)"
	pool, other := db.Connect(t), db.Connect(t)
	dbtest.Must(other.Exec("CREATE TABLE kept (n INTEGER PRIMARY KEY)"))(t)
	insert := func(ctx context.Context, n int) (changed bool, err error) {
		_, changed, err = sqlsession.Write{Text: "INSERT INTO kept VALUES (@n) RETURNING n", Values: map[string]any{"n": int64(n)}}.Run(ctx, pool, sqldialect.SQLite)
		return changed, err
	}
	rows := 0
	next := func() int { rows++; return rows }
	failed, written := 0, 0
	for round := range 1000 {
		n := round%14 + 1
		ctx := &ending{}
		ctx.Context, ctx.cancel = context.WithCancel(t.Context())
		ctx.n.Store(int32(n))
		key := next()
		changed, err := insert(ctx, key)
		ended := ctx.Context.Err()
		ctx.cancel()
		switch {
		case err == nil && changed:
			var found int
			if err := other.QueryRow("SELECT COUNT(*) FROM kept WHERE n = ?", key).Scan(&found); found != 1 || err != nil {
				t.Fatalf("asked %d times: %d rows of a write that succeeded, %v", n, found, err)
			}
			written++
		case err == nil:
			t.Fatalf("asked %d times: nothing was written, without an error", n)
		case ended == nil || !errors.Is(err, context.Canceled):
			t.Fatalf("asked %d times: %v", n, err)
		default:
			failed++
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := other.ExecContext(soon, "INSERT INTO kept VALUES (?)", next()); err != nil {
			t.Fatalf("asked %d times: a write on another connection: %v", n, err)
		}
		if _, err := insert(soon, next()); err != nil {
			t.Fatalf("asked %d times: the next write: %v", n, err)
		}
		cancel()
	}
	if failed == 0 || written == 0 {
		t.Errorf("%d writes failed and %d were done", failed, written)
	}
}
