package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// mariaDB returns a database of MariaDB.
func mariaDB(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.MySQL(t)
	if !db.MariaDB {
		t.Skipf("%s is not MariaDB", db.Version)
	}
	return db
}

// onMariaDB is like without.
func onMariaDB(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements, err := w.MariaDB()
	if err != nil {
		t.Fatal(err)
	}
	return edited(t, statements, edits...)
}

// TestMariaDBSessions makes ids in many sessions and in a process at the same time, while
// transactions stay open and statements are cancelled.
func TestMariaDBSessions(t *testing.T) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(1), idgen.Sequence(12))
	if err != nil {
		t.Fatal(err)
	}
	w := sqlgen.Writer{Layout: layout}
	run(t, db, onMariaDB(t, w)...)
	run(t, db, onMariaDB(t, w)...)
	run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0, v INT, KEY (id)) ENGINE = InnoDB", w.MySQLTrigger("rows", "id"))
	pool, err := snowkey.Open(t.Context(), sqlstore.MySQL(db), snowkey.Config{Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close(context.Background())
	open, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	run(t, open, "INSERT INTO `rows` (v) VALUES (1), (2)")
	undone, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := query(t, undone, "INSERT INTO `rows` (v) VALUES (3) RETURNING id")[0]
	if err := undone.Rollback(); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 10 {
				cancelled := (i+k)%5 == 0
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				if cancelled {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(1+k)*time.Millisecond)
				}
				_, err := db.ExecContext(ctx, "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_300")
				if err == nil {
					_, err = db.ExecContext(ctx, "INSERT INTO `rows` VALUES (0, 1), (NULL, 2)")
				}
				if err == nil {
					var id int64
					if id, err = pool.Next(ctx); err == nil {
						_, err = db.ExecContext(ctx, fmt.Sprintf("INSERT INTO `rows` VALUES (%d, 5)", id))
					}
				}
				if err != nil && !cancelled {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wait.Wait()
	run(t, open, "INSERT INTO `rows` (v) VALUES (4)")
	if err := open.Commit(); err != nil {
		t.Error(err)
	}
	all, different := count(t, db, "count(*) FROM `rows`"), count(t, db, "count(DISTINCT id) FROM `rows`")
	if all != different || all < 15000 {
		t.Errorf("%d rows have %d different ids", all, different)
	}
	if count(t, db, fmt.Sprint("count(*) FROM `rows` WHERE id = ", taken)) > 0 {
		t.Errorf("%d was made again after its transaction was rolled back", taken)
	}
	for _, id := range query(t, db, "SELECT id FROM `rows` WHERE v <> 5") {
		if p := layout.Decode(id); p.Worker != 1 || time.Since(p.Time).Abs() > time.Minute {
			t.Fatalf("%d is %+v", id, p)
		}
	}
	if left := count(t, db, "count(*) FROM snowkey_next_counter"); left > 0 {
		t.Errorf("the counter has %d rows", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if second, err := snowkey.Open(ctx, sqlstore.MySQL(db), snowkey.Config{Layout: layout}); err == nil {
		second.Close(context.Background())
		t.Error("a second process leased a worker number")
	}
	for _, tt := range []struct {
		w   sqlgen.Writer
		has string
	}{
		{sqlgen.Writer{Layout: layout, Name: "another"}, "is leased by SQL"},
		{sqlgen.Writer{Layout: layout, Namespace: "third"}, "already makes ids with worker number 1 of namespace default"},
		{sqlgen.Writer{Name: "another"}, "has another layout"},
	} {
		var err error
		for _, s := range onMariaDB(t, tt.w) {
			if _, err = db.Exec(s); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.has) {
			t.Errorf("got %v, want %s", err, tt.has)
		}
	}
}

// TestMariaDBLayouts parses ids of every preset that SQL can make.
func TestMariaDBLayouts(t *testing.T) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	for i, layout := range layouts(t) {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			run(t, db, onMariaDB(t, sqlgen.Writer{Layout: layout, Namespace: fmt.Sprint("n", i), Name: fmt.Sprint("next", i), Worker: 5, MaxClockSkew: 50 * time.Millisecond})...)
			before := time.Now()
			ids := query(t, session(t, db), fmt.Sprintf("SELECT next%d() FROM seq_1_to_1000", i))
			inLayout(t, layout, ids, before)
			if len(ids) != 1000 {
				t.Errorf("%d ids, want 1000", len(ids))
			}
		})
	}
}

// TestMariaDBFence raises the fence. The next session begins above it, though the counter
// was below.
func TestMariaDBFence(t *testing.T) {
	t.Parallel()
	t.Run("", func(t *testing.T) { fenceMariaDB(t, true) })
	t.Run("not read", func(t *testing.T) {
		fenceMariaDB(t, false, "GREATEST(l.bound, COALESCE((", "GREATEST(l.bound, 0 * COALESCE((")
	})
}

func fenceMariaDB(t *testing.T, want bool, edits ...string) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	store := sqlstore.MySQL(db)
	cfg := snowkey.Config{MaxWorker: 9}
	run(t, db, onMariaDB(t, sqlgen.Writer{}, edits...)...)
	pool, err := snowkey.Open(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	pool.Close(t.Context())
	query(t, db, "SELECT snowkey_next()")
	if err := snowkey.Fence(t.Context(), store, cfg); err != nil {
		t.Fatal(err)
	}
	fence := query(t, db, "SELECT fence FROM snowkey_lease_ns")[0]
	db.SetMaxIdleConns(0) // so that the next query has a new session
	id := query(t, db, "SELECT snowkey_next()")[0]
	if counter := id>>22<<12 | id&4095; counter >= fence != want {
		t.Errorf("the counter of %d is %d, and the fence %d", id, counter, fence)
	}
	run(t, db, "DELETE FROM snowkey_lease WHERE worker = 1023")
	if _, err := db.Exec("SELECT snowkey_next()"); err == nil || !strings.Contains(err.Error(), "is not reserved for SQL") {
		t.Errorf("without the row: %v", err)
	}
}
