// Package glebarez tests that the code of docs/sql-default.md for SQLite works with the
// driver that GORM users have. A program can't have both drivers.
package glebarez

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"
	"time"

	"github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// register is code of the page, which a program executes once.
var register = sync.OnceFunc(func() {
	sqlite.MustRegisterScalarFunction("snowkey_next", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return idgen.Default().Next(ctx)
	})
})

// open returns a database, and the pool with its ids, which is the default until the test
// ends.
func open(t *testing.T) (*sql.DB, *idgen.Pool) {
	t.Helper()
	register()
	db := dbtest.SQLite(t).Connect(t)
	pool, err := snowkey.Open(t.Context(), sqlstore.SQLite(db), snowkey.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		idgen.SetDefault(nil)
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	idgen.SetDefault(pool)
	return db, pool
}

func TestDefault(t *testing.T) {
	db, pool := open(t)
	before, err := pool.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY DEFAULT (snowkey_next()), name TEXT)",
		"INSERT INTO orders (name) VALUES ('tea'), ('coffee')",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
	var n int
	if err := db.QueryRow("SELECT count(DISTINCT id) FROM orders WHERE id > ?", before).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d ids, want 2: %v", n, err)
	}
}
