package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// A record is a log that tests can read.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// count returns how many messages contain all texts.
func (r *record) count(texts ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.text.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			n++
		}
	}
	return n
}

// openPool opens a pool over conn with a short Window.
func openPool(t *testing.T, db dbtest.DB, conn *sql.DB, window time.Duration) (*idgen.Pool, *record) {
	t.Helper()
	log := new(record)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool := dbtest.Must(snowkey.Open(ctx, storeOf(db, conn), snowkey.Config{
		Window: window, MaxClockSkew: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}))(t)
	t.Cleanup(func() {
		pool.Close(context.Background())
		if t.Failed() {
			t.Log(log.text.String())
		}
	})
	return pool, log
}

// An imported counts the rows of one transaction.
type imported struct {
	rows int
	err  error
}

// runImports runs n transactions at the same time. Each inserts rows for the given time, and waits
// up to patience for each id.
func runImports(t *testing.T, conn *sql.DB, pool *idgen.Pool, dialect string, n int, long, patience time.Duration) []imported {
	t.Helper()
	dbtest.Must(conn.Exec("CREATE TABLE IF NOT EXISTS imported (id BIGINT NOT NULL PRIMARY KEY)"))(t)
	insert := "INSERT INTO imported VALUES (?)"
	if dialect == "postgres" {
		insert = "INSERT INTO imported VALUES ($1)"
	}
	all := make([]imported, n)
	one := func(i *imported) error {
		tx, err := conn.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for end := time.Now().Add(long); time.Now().Before(end); i.rows++ {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			id, err := pool.Next(ctx)
			cancel()
			if err != nil {
				return err
			}
			if _, err := tx.Exec(insert, id); err != nil {
				return err
			}
			time.Sleep(time.Millisecond) // leaves the machine to other tests
		}
		return tx.Commit()
	}
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() { all[i].err = one(&all[i]) })
	}
	running.Wait()
	return all
}

// transactions checks that n transactions that last for some windows get all their ids from a
// pool of connections connections. A machine may be so busy that a renewal gets no answer in
// time, and then the store loses its connection to the transactions. So it tries longer
// windows before it fails.
func transactions(t *testing.T, db dbtest.DB, n, connections int, windows time.Duration) {
	t.Helper()
	for window := time.Second; ; window *= 2 {
		conn := db.Connect(t)
		conn.SetMaxOpenConns(connections)
		pool, log := openPool(t, db, conn, window)
		var failed []string
		for i, did := range runImports(t, conn, pool, db.Dialect, n, windows*window, time.Minute) {
			if did.err != nil {
				failed = append(failed, fmt.Sprintf("transaction %d, after %d rows: %v", i, did.rows, did.err))
			}
		}
		if n := log.count("all connections"); n > 0 {
			failed = append(failed, fmt.Sprintf("%d messages that the pool has no connection left", n))
		}
		if len(failed) == 0 {
			return
		}
		if window > 4*time.Second {
			t.Fatal(strings.Join(failed, "\n"))
		}
		pool.Close(context.Background())
	}
}

// TestLongTransactions has transactions that create rows for longer than Window, and that
// want all connections.
func TestLongTransactions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		for _, connections := range []int{1, 2, 5} {
			n := connections
			if db.Dialect == "sqlite" {
				n = 1 // it has one writer at a time
			} else if connections == 1 {
				continue // see TestOnlyConnection
			}
			t.Run(fmt.Sprint(connections, " connections"), func(t *testing.T) {
				t.Parallel()
				transactions(t, dbtest.Open(t, db.Dialect), n, connections, 15)
			})
		}
	})
}

// TestOnlyConnection has a transaction with the only connection. It can't get ids for
// longer than Window, so it fails, and ids are back when it has ended.
func TestOnlyConnection(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1)
		pool, log := openPool(t, db, conn, time.Second)
		if log.count("level=WARN", "only one connection", "a *sql.DB of its own") != 1 {
			t.Error("no warning that there is only one connection")
		}
		began := time.Now()
		did := runImports(t, conn, pool, db.Dialect, 1, time.Minute, time.Hour)[0]
		blocked, ok := errors.AsType[*lease.BlockedError](did.err)
		if !ok || !strings.Contains(blocked.Cause, "all connections of the *sql.DB (1)") || !strings.Contains(blocked.Remedy, "*sql.DB of its own") {
			t.Fatalf("after %d rows and %v: %v", did.rows, time.Since(began), did.err)
		}
		if errors.Is(did.err, context.Canceled) || time.Since(began) < 2*time.Second {
			t.Errorf("after %v: %v", time.Since(began), did.err)
		}
		if n := log.count("level=WARN", "all connections of the *sql.DB"); n != 1 {
			t.Errorf("%d warnings with the cause", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		dbtest.Must(pool.Next(ctx))(t)
		for log.count("level=INFO", "ids are back") == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if n := log.count("level=INFO", "ids are back"); n != 1 {
			t.Errorf("%d messages that ids are back", n)
		}
		if h := pool.Health(); h.Reason != nil {
			t.Error(h.Reason)
		}
	})
}
