package sqlgen

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// The first statement is in docs/sql-default.md. The other functions lack one of its
// properties.
func init() {
	sqlite.MustRegisterScalarFunction("snowkey_next", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return idgen.Default().Next(ctx)
	})

	sqlite.MustRegisterDeterministicScalarFunction("deterministic", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return idgen.Default().Next(context.Background())
	})
}

// TestSQLite runs the SQL of docs/sql-default.md. No test of this package that uses
// idgen.Default may run in parallel.
func TestSQLite(t *testing.T) {
	db := dbtest.SQLite(t).Connect(t)
	pool := dbtest.Must(snowkey.Open(t.Context(), sqlstore.SQLite(db), snowkey.Config{}))(t)
	idgen.SetDefault(pool)
	t.Cleanup(func() {
		idgen.SetDefault(nil)
		pool.Close(context.Background())
	})
	for _, block := range blocks(t, "SQLite", "sql") {
		dbtest.Exec(t, db, block)
	}
	for table, rows := range map[string]int{"orders": 2, "invoices": 1} {
		ids := query(t, db, "SELECT id FROM "+table)
		if len(ids) != rows {
			t.Errorf("%s has %d rows, want %d", table, len(ids), rows)
		}
		worker, _ := pool.Worker()
		for _, id := range ids {
			if p := pool.Layout().Decode(id); p.Worker != worker || time.Since(p.Time).Abs() > time.Minute {
				t.Errorf("the id %d of %s has worker %d and time %v", id, table, p.Worker, p.Time)
			}
		}
	}

	dbtest.Exec(t, db, "CREATE TABLE rowids (id INTEGER PRIMARY KEY DEFAULT (snowkey_next()), name TEXT)", "INSERT INTO rowids (name) VALUES ('a')",
		"CREATE TABLE many (id BIGINT NOT NULL PRIMARY KEY DEFAULT (snowkey_next()), name TEXT)",
		"INSERT INTO many (name) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT 'a' FROM n", "INSERT INTO many (name) VALUES ('b'), ('c')")
	if ids := query(t, db, "SELECT id FROM rowids"); ids[0] != 1 {
		t.Errorf("INTEGER PRIMARY KEY: the key is %d, want a rowid", ids[0])
	}
	if n := count(t, db, "count(DISTINCT id) FROM many"); n != 1002 {
		t.Errorf("%d ids, want 1,002", n)
	}
	if _, err := db.Exec("INSERT INTO many VALUES (NULL, 'a')"); err == nil || !strings.Contains(err.Error(), "NOT NULL constraint failed") {
		t.Errorf("NULL as key: %v", err)
	}
	dbtest.Exec(t, db, "CREATE TABLE once (id BIGINT NOT NULL PRIMARY KEY DEFAULT (deterministic()), name TEXT)")
	if _, err := db.Exec("INSERT INTO once (name) SELECT name FROM many LIMIT 2"); err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed") {
		t.Errorf("a deterministic function: %v", err)
	}

	idgen.SetDefault(nil)
	if _, err := db.Exec("INSERT INTO orders (name) VALUES ('sugar')"); err == nil || !strings.Contains(err.Error(), idgen.ErrNoPool.Error()) {
		t.Errorf("without a pool: %v", err)
	}
	if n := count(t, db, "count(*) FROM orders"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}
