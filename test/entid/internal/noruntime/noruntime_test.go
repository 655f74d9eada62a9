//go:build clients

// Package noruntime is a program that lacks the blank import of ent's runtime package,
// which is required for hooks in a schema. It has to be a separate package, because
// it's enough if anything in a test binary imports the runtime.
package noruntime

import (
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

// Without its runtime package, ent refuses to create a row, which is better than
// creating one without an id. It returns an error for a single row, but panics for a
// bulk create.
func TestForgottenRuntime(t *testing.T) {
	db := dbtest.SQLite(t)
	c := ent.NewClient(ent.Driver(sql.OpenDB(dialect.SQLite, db.Connect(t))))
	dbtest.NoError(t, c.Schema.Create(t.Context()))
	err := c.Tag.Create().SetName("a").Exec(t.Context())
	if want := "ent: uninitialized hook (forgotten import ent/runtime?)"; err == nil || err.Error() != want {
		t.Errorf("Create: got %v, want %s", err, want)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("CreateBulk went on")
			}
		}()
		err = c.Tag.CreateBulk(c.Tag.Create().SetName("a")).Exec(t.Context())
	}()
	if n := c.Tag.Query().CountX(t.Context()); n != 0 {
		t.Errorf("%d rows were created", n)
	}
}
