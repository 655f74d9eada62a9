// Package glebarez tests that the code of docs/sql-default.md for SQLite works with the
// driver that GORM users have. A program can't have both drivers.
package glebarez

import (
	"context"
	"database/sql/driver"
	"testing"
	"time"

	sqlitedriver "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func init() {
	sqlitedriver.MustRegisterScalarFunction("snowkey_next", 0, func(*sqlitedriver.FunctionContext, []driver.Value) (driver.Value, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return idgen.Default().Next(ctx)
	})
}

// An Order is a row of the table on the page. Its type declares the default.
type Order struct {
	ID   pk.ID `gorm:"type:bigint DEFAULT (snowkey_next())"`
	Name string
}

// A LaterOrder is an Order of a later version of the program.
type LaterOrder struct {
	Order
	Note string
}

func (LaterOrder) TableName() string { return "orders" }

// A PlainOrder is an Order whose type does not declare the default.
type PlainOrder struct {
	ID   pk.ID
	Name string
	Note string
}

func (PlainOrder) TableName() string { return "orders" }

// AutoMigrate creates the default of a type that declares it, and keeps the default of the page.
func TestAutoMigrate(t *testing.T) {
	for name, tt := range map[string]struct {
		setup  string
		models []any
	}{
		"declared":    {"SELECT 1", []any{&Order{}, &Order{}, &LaterOrder{}}},
		"of the page": {"CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY DEFAULT (snowkey_next()), name TEXT NOT NULL)", []any{&PlainOrder{}, &PlainOrder{}}},
	} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.SQLite(t).Connect(t)
			pool := dbtest.Must(snowkey.Open(t.Context(), sqlstore.SQLite(db), snowkey.Config{}))(t)
			idgen.SetDefault(pool)
			t.Cleanup(func() {
				idgen.SetDefault(nil)
				dbtest.NoError(t, pool.Close(context.Background()))
			})
			program := dbtest.Must(gorm.Open(sqlite.Dialector{Conn: db}, &gorm.Config{Logger: logger.Discard}))(t)
			dbtest.NoError(t, program.Use(gormid.New(gormid.Config{})))
			dbtest.Must(db.Exec(tt.setup))(t)
			for i, model := range tt.models {
				dbtest.NoError(t, program.AutoMigrate(model))
				if _, err := db.Exec("INSERT INTO orders (name) VALUES ('tea'), ('coffee')"); err != nil {
					t.Errorf("after migration %d: %v", i, err)
				}
			}
			dbtest.NoError(t, gormid.Check(t.Context(), program, tt.models[len(tt.models)-1]))
			var n int
			if err := db.QueryRow("SELECT count(DISTINCT id) FROM orders WHERE id > 1000000").Scan(&n); err != nil || n != 2*len(tt.models) {
				t.Errorf("%d ids, want %d: %v", n, 2*len(tt.models), err)
			}
		})
	}
}
