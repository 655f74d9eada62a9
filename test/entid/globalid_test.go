//go:build clients

package entid_test

import (
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/migrate"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// ent's WithGlobalUniqueID sets counters, which keys don't have, and fails on SQLite.
// You don't need it, since the ids of all tables are different anyway, and docs/ent.md
// says to leave it out.
func TestGlobalUniqueID(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		ctx := t.Context()
		client := ent.NewClient(ent.Driver(sql.OpenDB(dialects[db.Dialect], db.Connect(t))))
		err := migrate.Create(ctx, client.Schema, tables, schema.WithGlobalUniqueID(true))
		if fails := err != nil && strings.Contains(err.Error(), "no such table: sqlite_sequence"); fails != (db.Dialect == "sqlite") || !fails && err != nil {
			t.Errorf("with WithGlobalUniqueID: %v", err)
		}
		for range 2 {
			dbtest.NoError(t, migrate.Create(ctx, client.Schema, tables))
		}
		user, tag := client.User.Create().SetName("a").SaveX(ctx), client.Tag.Create().SetName("a").SaveX(ctx)
		if user.ID.IsZero() || user.ID == tag.ID {
			t.Errorf("a user and a tag have the keys %d and %d", user.ID, tag.ID)
		}
	})
}
