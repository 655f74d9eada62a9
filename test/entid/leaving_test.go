//go:build clients

package entid_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	atlas "ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/migrate"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// In these tests, ent creates tables with auto-increment, and a plan takes them off it.
// After that, ent's migrations of the same tables with the mixin must not change
// anything.

var mixed = []*schema.Table{migrate.UsersTable, migrate.PostsTable}

// numeric returns the same tables with numeric ids, which is what they have without the
// mixin.
func numeric(increment bool) []*schema.Table { return numericOf(field.TypeInt64, increment) }

func numericOf(t field.Type, increment bool) []*schema.Table {
	key := func() *schema.Column { return &schema.Column{Name: "id", Type: t, Increment: increment} }
	id := key()
	users := schema.NewTable("users").AddPrimary(id).
		AddColumn(migrate.UsersTable.Columns[1]).AddColumn(migrate.UsersTable.Columns[2])
	author := &schema.Column{Name: "author_id", Type: t, Nullable: true}
	posts := schema.NewTable("posts").AddPrimary(key()).AddColumn(migrate.PostsTable.Columns[1]).AddColumn(author).
		AddForeignKey(&schema.ForeignKey{Symbol: "posts_users_posts", Columns: []*schema.Column{author}, RefTable: users,
			RefColumns: []*schema.Column{id}, OnDelete: schema.SetNull})
	return []*schema.Table{users, posts}
}

// left has, for each dialect, the statements of a plan as a file of versioned
// migrations.
var left = map[string]string{
	"postgres": `ALTER TABLE users ALTER COLUMN id DROP IDENTITY;
ALTER TABLE posts ALTER COLUMN id DROP IDENTITY;
`,
	"mysql": `SET foreign_key_checks = 0;
ALTER TABLE users MODIFY id BIGINT NOT NULL;
ALTER TABLE posts MODIFY id BIGINT NOT NULL;
SET foreign_key_checks = 1;
`,
	"sqlite": `PRAGMA foreign_keys = OFF;
CREATE TABLE new_users (id BIGINT NOT NULL PRIMARY KEY, name text NOT NULL, age integer NOT NULL DEFAULT 0);
INSERT INTO new_users SELECT id, name, age FROM users;
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;
CREATE UNIQUE INDEX users_name_key ON users (name);
CREATE TABLE new_posts (id BIGINT NOT NULL PRIMARY KEY, title text NOT NULL, author_id integer NULL, CONSTRAINT posts_users_posts FOREIGN KEY (author_id) REFERENCES users (id) ON DELETE SET NULL);
INSERT INTO new_posts SELECT id, title, author_id FROM posts;
DROP TABLE posts;
ALTER TABLE new_posts RENAME TO posts;
PRAGMA foreign_keys = ON;
`,
}

// A migrator runs ent's automatic migration.
type migrator struct {
	client
	driver *sql.Driver
}

// migrated returns a database whose tables ent has created.
func migrated(t *testing.T, db dbtest.DB, tables []*schema.Table) migrator {
	t.Helper()
	driver := sql.OpenDB(dialects[db.Dialect], db.Connect(t))
	m := migrator{client{sql: driver.DB(), db: db}, driver}
	dbtest.NoError(t, m.create(t, tables))
	return m
}

func (m migrator) create(t *testing.T, tables []*schema.Table) error {
	return dbtest.Must(schema.NewMigrate(m.driver))(t).Create(t.Context(), tables...)
}

// plan returns the statements that the migration would run.
func (m migrator) plan(t *testing.T, tables []*schema.Table, options ...schema.MigrateOption) (string, error) {
	t.Helper()
	var b strings.Builder
	writer := dbtest.Must(schema.NewMigrate(&schema.WriteDriver{Driver: m.driver, Writer: &b}, options...))(t)
	err := writer.Create(t.Context(), tables...)
	return changes(b.String()), err
}

// wantNoPlan checks that the migration would change nothing, or that it is refused on
// Postgres because it can't remove or add a counter.
func (m migrator) wantNoPlan(t *testing.T, tables []*schema.Table, refused bool, options ...schema.MigrateOption) {
	t.Helper()
	plan, err := m.plan(t, tables, options...)
	is := err != nil && strings.Contains(err.Error(), "unexpected attribute change (expect IDENTITY)")
	if plan != "" || is != (refused && m.db.Dialect == "postgres") || err != nil && !is {
		t.Errorf("ent would run %q, %v", plan, err)
	}
}

// changes removes what ent 0.14.0 writes for SQLite even if a migration changes
// nothing.
func changes(migration string) string {
	return strings.Replace(migration, "PRAGMA foreign_keys = off;\nPRAGMA foreign_keys = on;\n", "", 1)
}

// An old row has ids that the database has counted.
var old = []string{"INSERT INTO users (name, age) VALUES ('ada', 1)", "INSERT INTO posts (title, author_id) VALUES ('first', 1)"}

// dropping makes a migration drop whatever the schema doesn't have.
var dropping = []schema.MigrateOption{schema.WithDropColumn(true), schema.WithDropIndex(true)}

func TestAutoMigrationOfLeavers(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		m := migrated(t, db, numeric(true))
		dbtest.Exec(t, m.sql, old...)
		for _, tables := range [][]*schema.Table{mixed, numeric(false)} {
			m.wantNoPlan(t, tables, true)
		}
		if err := entid.Check(t.Context(), m.sql, mixed...); err == nil {
			t.Error("before: a key that counts was found to fit")
		}

		idtest.Leave(t, m.sql, autoinc.PlanOptions{})
		for _, tables := range [][]*schema.Table{mixed, numeric(false)} {
			m.wantNoPlan(t, tables, false)
			m.wantNoPlan(t, tables, false, dropping...)
		}
		dbtest.NoError(t, m.create(t, mixed))
		dbtest.NoError(t, entid.Check(t.Context(), m.sql, mixed...))

		// A schema that still has the numeric id must not add auto-increment back.
		m.wantNoPlan(t, numeric(true), true)
		if err := entid.Check(t.Context(), m.sql, numeric(true)...); err == nil {
			t.Error("the old schema was found to fit")
		}
		for _, insert := range []string{"INSERT INTO users (name) VALUES ('forgotten')", "INSERT INTO users (id, name) VALUES (2, 'small')"} {
			if _, err := m.sql.Exec(insert); err == nil {
				t.Errorf("%s was accepted", insert)
			}
		}
		m.wantRows(t, "SELECT id FROM users", "1")
	})
}

// If a plan has widened keys and foreign keys, they must match the mixin.
func TestAutoMigrationOfWidened(t *testing.T) {
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprint("online ", online), func(t *testing.T) {
			reuse.Each(t, func(t *testing.T, db dbtest.DB) {
				m := migrated(t, db, numericOf(field.TypeInt32, true))
				dbtest.Exec(t, m.sql, old...)
				idtest.Leave(t, m.sql, autoinc.PlanOptions{Online: online})
				m.wantNoPlan(t, mixed, false, dropping...)
				dbtest.NoError(t, entid.Check(t.Context(), m.sql, mixed...))
			})
		})
	}
}

// A guard must be a trigger, because ent drops any CHECK that isn't declared by the
// schema.
func TestAutoMigrationDropsChecks(t *testing.T) {
	m := migrated(t, dbtest.Postgres(t), mixed)
	dbtest.Exec(t, m.sql, "ALTER TABLE users ADD CONSTRAINT only_generated CHECK (id > 1000000000000) NOT VALID")
	if plan, err := m.plan(t, mixed); !strings.Contains(plan, `DROP CONSTRAINT "only_generated"`) || err != nil {
		t.Errorf("ent would run %q, %v", plan, err)
	}
}

// ent's migration turns unsigned keys into signed ones. This fails if there is a
// foreign key to them that ent doesn't know about.
func TestAutoMigrationChangesSigns(t *testing.T) {
	unsigned := numericOf(field.TypeUint64, true)[:1]
	m := migrated(t, dbtest.MySQL(t), unsigned)
	dbtest.Exec(t, m.sql, "CREATE TABLE visits (user_id BIGINT UNSIGNED, FOREIGN KEY (user_id) REFERENCES users (id))")
	idtest.Leave(t, m.sql, autoinc.PlanOptions{})
	if plan, err := m.plan(t, mixed[:1]); !strings.Contains(plan, "MODIFY COLUMN `id` bigint NOT NULL") || err != nil {
		t.Errorf("ent would run %q, %v", plan, err)
	}
	if err := m.create(t, mixed[:1]); err == nil {
		t.Error("the sign of a key was changed under a foreign key")
	}
	if got, want := idtest.Findings(t, entid.Check(t.Context(), m.sql, mixed[:1]...)), "warning:sign-mismatch:users.id"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// A directory of versioned migrations needs the plan as a separate file, after which
// the next diff must be empty.
func TestVersionedMigrationOfLeavers(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		path := t.TempDir()
		dir := dbtest.Must(atlas.NewLocalDir(path))(t)
		dev := sql.OpenDB(dialects[db.Dialect], db.Connect(t)) // used to replay the directory, so it's empty before and after
		diff := func(tables []*schema.Table) error {
			m := dbtest.Must(schema.NewMigrate(dev, schema.WithDir(dir), schema.WithMigrationMode(schema.ModeReplay), schema.WithFormatter(atlas.DefaultFormatter)))(t)
			return m.NamedDiff(t.Context(), "diff", tables...)
		}
		files := func() []string { return dbtest.Must(filepath.Glob(filepath.Join(path, "*.sql")))(t) }
		if err := diff(numeric(true)); err != nil || len(files()) != 1 {
			t.Fatalf("the first diff wrote %q: %v", files(), err)
		}
		if err := diff(mixed); (err != nil) != (db.Dialect == "postgres") || len(files()) != 1 {
			t.Errorf("without the file: the diff wrote %q, %v", files(), err)
		}

		dbtest.NoError(t, dir.WriteFile("99990101000000_leave.sql", []byte(left[db.Dialect])))
		dbtest.NoError(t, atlas.WriteSumFile(dir, dbtest.Must(dir.Checksum())(t))) // same as atlas migrate hash
		want := files()
		for range 2 {
			if err := diff(mixed); err != nil || !slices.Equal(files(), want) {
				t.Errorf("with the file: the diff wrote %q, %v", files(), err)
			}
		}
	})
}
