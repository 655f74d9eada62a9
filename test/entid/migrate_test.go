//go:build clients

package entid_test

import (
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/migrate"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// After the migration, the columns of all keys, foreign keys and join tables must be those
// that the schema declares, and a second migration must not change anything.
func TestMigrate(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		dbtest.NoError(t, entid.Check(t.Context(), c.sql, tables...))
		var again strings.Builder
		writer := migrate.NewSchema(&schema.WriteDriver{Writer: &again, Driver: sql.OpenDB(dialects[c.db.Dialect], c.sql)})
		if err := migrate.Create(t.Context(), writer, tables); err != nil || changes(again.String()) != "" {
			t.Errorf("a second migration would run %s, %v", &again, err)
		}
	})
}

// A row inserted without an id and without the hook must be refused, because the
// database doesn't number it.
func TestMissingID(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		for _, insert := range []string{
			"INSERT INTO tags (name) VALUES ('a')",
			"INSERT INTO tags (id, name) VALUES (NULL, 'a')",
			"INSERT INTO cards (number) VALUES ('a')",
			"INSERT INTO labels (name) VALUES ('a')",
			"INSERT INTO notes (text) VALUES ('a')",
		} {
			if _, err := c.sql.ExecContext(t.Context(), insert); err == nil {
				t.Errorf("%s was accepted", insert)
			}
		}
		// ent doesn't set an id either, since Event has no mixin and we haven't set a
		// hook.
		if e, err := c.Event.Create().SetKind("a").Save(t.Context()); err == nil {
			t.Errorf("an entity without a hook was created as %v", e)
		}
		if e, err := c.Event.CreateBulk(c.Event.Create().SetKind("a")).Save(t.Context()); err == nil {
			t.Errorf("an entity without a hook was created in bulk as %v", e)
		}
		c.wantRows(t, "SELECT id FROM events")
	})
}

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
