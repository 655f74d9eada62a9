//go:build clients

package entid_test

import (
	"slices"
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/migrate"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// columns queries the catalog for all columns that hold a key. It returns the type, the
// default, and whether the database numbers the column.
var columns = map[string]string{
	"sqlite": `SELECT m.name || '.' || c.name || ' ' || c.type || CASE WHEN c."notnull" THEN '' ELSE ' null' END || coalesce(' default ' || c.dflt_value, '')
		FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND (c.name = 'id' OR c.name LIKE '%\_id' ESCAPE '\' OR c.name IN ('user_card', 'note_main'))`,
	"postgres": `SELECT table_name || '.' || column_name || ' ' || CASE data_type
			WHEN 'character varying' THEN 'varchar(' || character_maximum_length || ')'
			WHEN 'character' THEN 'char(' || character_maximum_length || ')'
			ELSE data_type END ||
		CASE is_nullable WHEN 'YES' THEN ' null' ELSE '' END || coalesce(' default ' || column_default, '') || CASE is_identity WHEN 'YES' THEN ' identity' ELSE '' END
		FROM information_schema.columns
		WHERE table_schema = 'public' AND (column_name = 'id' OR column_name LIKE '%\_id' OR column_name IN ('user_card', 'note_main'))`,
	"mysql": `SELECT CONCAT(table_name, '.', column_name, ' ', REPLACE(column_type, 'bigint(20)', 'bigint'), IF(is_nullable = 'YES', ' null', ''),
		IF(column_default IS NULL OR column_default = 'NULL', '', CONCAT(' default ', column_default)), IF(extra = '', '', CONCAT(' ', extra)))
		FROM information_schema.columns
		WHERE table_schema = DATABASE() AND (column_name = 'id' OR column_name LIKE '%\_id' OR column_name IN ('user_card', 'note_main'))`,
}

// The migration must create the right type of column for all keys, foreign keys and
// join tables, without any auto-increment.
func TestMigrate(t *testing.T) {
	want := []string{
		"cards.id bigint",
		"cards.user_card bigint null",
		"events.card_id bigint null",
		"events.id bigint",
		"labels.id varchar(20)",
		"likes.post_id bigint",
		"likes.user_id bigint",
		"note_labels.label_id varchar(20)",
		"note_labels.note_id char(13)",
		"notes.id char(13)",
		"notes.note_main varchar(20) null",
		"posts.author_id bigint null",
		"posts.id bigint",
		"taggings.id bigint",
		"taggings.post_id bigint",
		"taggings.tag_id bigint",
		"tags.id bigint",
		"user_follows.tag_id bigint",
		"user_follows.user_id bigint",
		"users.id bigint",
	}
	each(t, func(t *testing.T, c client) {
		want := slices.Clone(want)
		if c.db.Dialect == "sqlite" { // SQLite ignores lengths and doesn't keep them
			for i := range want {
				want[i] = strings.NewReplacer("(20)", "", "(13)", "").Replace(want[i])
			}
		}
		got := dbtest.Rows(t, c.sql, columns[c.db.Dialect])
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("columns\n got %q\nwant %q", got, want)
		}
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
