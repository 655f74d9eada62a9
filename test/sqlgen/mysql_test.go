package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// mySQL returns a database of MySQL.
func mySQL(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.MySQL(t)
	if db.MariaDB {
		t.Skipf("%s is not MySQL", db.Version)
	}
	return db
}

// onMySQL is without on MySQL.
func onMySQL(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements := dbtest.Must(w.MySQL())(t)
	return edited(t, statements, edits...)
}

// mariaDB returns a database of MariaDB.
func mariaDB(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.MySQL(t)
	if !db.MariaDB {
		t.Skipf("%s is not MariaDB", db.Version)
	}
	return db
}

// onMariaDB is without on MariaDB.
func onMariaDB(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements := dbtest.Must(w.MariaDB())(t)
	return edited(t, statements, edits...)
}

// many is a query with n rows, in which i counts from 1.
func many(n int, columns string) string {
	return fmt.Sprintf(series+"SELECT %s FROM n", n, columns)
}

// TestMySQLSessions makes ids in many sessions and in a process at the same time, while
// transactions stay open and statements are cancelled.
func TestMySQLSessions(t *testing.T) {
	t.Parallel()
	server, kind := mySQLServer(t)
	db, on := server.Connect(t), kind.on
	rows, rounds, least := many(100, "i"), 20, int64(10000)
	if kind.mariaDB {
		rows, rounds, least = "SELECT seq FROM seq_1_to_300", 10, 15000
	}
	layout := twoWorkers(t)
	w := sqlgen.Writer{Layout: layout}
	run(t, db, on(t, w)...)
	run(t, db, on(t, w)...)
	run(t, db, "CREATE TABLE `rows` (id "+kind.column+", v INT, KEY (id)) ENGINE = InnoDB", w.MySQLTrigger("rows", "id"))
	pool := dbtest.Must(snowkey.Open(t.Context(), sqlstore.MySQL(db), snowkey.Config{Layout: layout}))(t)
	defer pool.Close(context.Background())
	open := dbtest.Must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable}))(t)
	run(t, open, "INSERT INTO `rows` (v) VALUES (1), (2)")
	undone := dbtest.Must(db.BeginTx(t.Context(), nil))(t)
	run(t, undone, "INSERT INTO `rows` (v) VALUES (3)")
	taken := query(t, undone, "SELECT id FROM `rows` WHERE v = 3")[0]
	dbtest.NoError(t, undone.Rollback())
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range rounds {
				cancelled := (i+k)%5 == 0
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				if cancelled {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(1+k)*time.Millisecond)
				}
				_, err := db.ExecContext(ctx, "INSERT INTO `rows` (v) "+rows)
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
	all, different := countIDs(t, db, "`rows`")
	if all != different || all < least {
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
	reservedOnce(t, db, layout, on)
}

// TestMySQLPage runs the SQL of docs/sql-default.md.
func TestMySQLPage(t *testing.T) {
	t.Parallel()
	db := mySQL(t).Connect(t)
	run(t, db, onMySQL(t, sqlgen.Writer{})...)
	db.SetMaxOpenConns(1) // for the variable
	for _, block := range blocks(t, "MySQL", "sql") {
		for statement := range strings.SplitSeq(strings.TrimSpace(block), ";\n") {
			run(t, db, statement)
		}
	}
	if n := count(t, db, "count(DISTINCT id) FROM orders WHERE id > 1000000"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	printed, err := os.ReadFile("../../docs/sql-default.md")
	if trigger := (sqlgen.Writer{}).MySQLTrigger("orders", "id"); err != nil || !strings.Contains(string(printed), strings.ReplaceAll(trigger, "`", "")) {
		t.Errorf("the page does not have %s", trigger)
	}
}
