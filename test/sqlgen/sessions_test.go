package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// twoWorkers has two worker numbers, and SQL gets the second one.
func twoWorkers(t *testing.T) idgen.Layout {
	t.Helper()
	return dbtest.Must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(1), idgen.Sequence(12)))(t)
}

// TestSessions makes ids in many sessions, and in a process that can lease every worker
// number, while transactions stay open and statements are cancelled. No session waits for
// the COMMIT of another, no lock is left behind, and the process never gets the number that
// is reserved.
func TestSessions(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, server dbtest.DB, k kind) {
		db, layout := server.Connect(t), twoWorkers(t)
		on, store, w := k.on, k.store(db), sqlgen.Writer{Layout: layout}
		table, rows, more := []string{"CREATE TABLE made (id bigint DEFAULT snowkey_next(), v int)"}, "SELECT generate_series(1, 300)", "SELECT snowkey_next(30), 6"
		if server.Dialect == "mysql" {
			rows, more = many(100, "i"), "VALUES (0, 1), (NULL, 2)"
			table = []string{"CREATE TABLE made (id " + k.column + ", v INT, KEY (id))", trigger("made")}
		}
		for range 2 {
			dbtest.Exec(t, db, on(t, w)...)
		}
		dbtest.Exec(t, db, table...)
		cfg := snowkey.Config{Layout: layout}
		pool := dbtest.Must(snowkey.Open(t.Context(), store, cfg))(t)
		defer pool.Close(context.Background())

		open := dbtest.Must(db.BeginTx(t.Context(), nil))(t)
		serializable := dbtest.Must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable}))(t)
		undone := dbtest.Must(db.BeginTx(t.Context(), nil))(t)
		for _, tx := range []*sql.Tx{open, serializable, undone} {
			dbtest.Exec(t, tx, "INSERT INTO made (v) VALUES (1), (3)")
		}
		taken := query(t, undone, "SELECT id FROM made WHERE v = 3")[0]
		dbtest.NoError(t, undone.Rollback())
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				for k := range 20 {
					patience, cancelled := time.Minute, (i+k)%5 == 0
					if cancelled {
						patience = time.Duration(1+k) * time.Millisecond
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					_, err := db.ExecContext(ctx, "INSERT INTO made (v) "+rows)
					if pgconn.Timeout(err) && !cancelled { // pgx may use a connection again whose last statement was cancelled
						_, err = db.ExecContext(ctx, "INSERT INTO made (v) "+rows)
					}
					if err == nil {
						_, err = db.ExecContext(ctx, "INSERT INTO made (id, v) "+more)
					}
					var id int64
					if err == nil {
						id, err = pool.Next(ctx)
					}
					if err == nil {
						_, err = db.ExecContext(ctx, fmt.Sprintf("INSERT INTO made (id, v) VALUES (%d, 5555)", id))
					}
					if err != nil && !cancelled {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		wait.Wait()
		for _, tx := range []*sql.Tx{open, serializable} {
			dbtest.Exec(t, tx, "INSERT INTO made (v) VALUES (4)")
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		}
		if all, different := countIDs(t, db, "made"); all != different || all < 10_000 {
			t.Errorf("%d rows have %d different ids", all, different)
		}
		if count(t, db, fmt.Sprint("count(*) FROM made WHERE id = ", taken)) > 0 {
			t.Errorf("%d was made again after its transaction was rolled back", taken)
		}
		for _, id := range query(t, db, "SELECT id FROM made WHERE v <> 5555") {
			if p := layout.Decode(id); p.Worker != 1 || time.Since(p.Time).Abs() > time.Minute {
				t.Fatalf("%d is %+v", id, p)
			}
		}
		held := "count(*) FROM snowkey_next_counter"
		if server.Dialect == "postgres" {
			held = "count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
		}
		dbtest.Await(t, "the end of cancelled statements; locks are held, or the counter has rows", func() bool { return count(t, db, held) == 0 })
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if second, err := snowkey.Open(ctx, store, cfg); err == nil {
			second.Close(context.Background())
			t.Error("a second process leased a worker number")
		}
	})
}

// TestReserved checks that a number is reserved for one function, a function has one number,
// and statements that were refused leave nothing behind. A reserved number is like a leased
// one.
func TestReserved(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, server dbtest.DB, k kind) {
		db, layout := server.Connect(t), twoWorkers(t)
		store, cfg := k.store(db), snowkey.Config{Layout: layout}
		dbtest.Exec(t, db, k.on(t, sqlgen.Writer{Layout: layout})...)
		for _, tt := range []struct {
			w   sqlgen.Writer
			has string
		}{
			{sqlgen.Writer{Layout: layout, Name: "another"}, "is leased by SQL"},
			{sqlgen.Writer{Layout: layout, Namespace: "third"}, "already makes ids with worker number 1 of namespace default"},
			{sqlgen.Writer{Name: "another"}, "has another layout"},
		} {
			if err := refused(t, db, k.on(t, tt.w)); err == nil || !strings.Contains(err.Error(), tt.has) {
				t.Errorf("got %v, want %s", err, tt.has)
			}
		}
		if server.Dialect == "postgres" {
			sequences, rows := count(t, db, "count(*) FROM pg_class WHERE relname LIKE 'another%'"), count(t, db, "count(*) FROM snowkey_lease WHERE namespace = 'third'")
			if sequences+rows > 0 {
				t.Errorf("statements that were refused left %d sequences and %d rows", sequences, rows)
			}
		}
		pool := dbtest.Must(snowkey.Open(t.Context(), store, cfg))(t)
		defer pool.Close(context.Background())
		for _, f := range dbtest.Must(snowkey.Doctor(t.Context(), store, cfg))(t) {
			if f.Kind == "expires-ahead" {
				t.Errorf("doctor: %s", f.Text)
			}
		}
		cfg.Namespace = "other"
		dbtest.Exec(t, db, k.on(t, sqlgen.Writer{Layout: layout, Namespace: "other", Name: "other"}, "7258118400000000", "0")...)
		for range 2 {
			pool, err := snowkey.Open(t.Context(), store, cfg)
			if err != nil {
				t.Fatalf("a process can't lease a reserved number that has expired: %v", err)
			}
			defer pool.Close(context.Background())
		}
	})
}
