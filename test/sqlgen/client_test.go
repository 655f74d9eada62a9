//go:build clients

package sqlgen

import (
	"database/sql"
	"fmt"
	"testing"

	"entgo.io/ent/dialect"
	entsqldialect "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
	"github.com/snowkey-go/snowkey/test/matrix/ent"
	"github.com/snowkey-go/snowkey/test/matrix/ent/migrate"
	_ "github.com/snowkey-go/snowkey/test/matrix/ent/runtime"
)

// entClient returns a client whose rows have ids with worker number 7.
func entClient(t *testing.T, name string, conn *sql.DB) *ent.Client {
	t.Helper()
	pool, err := process()
	if err != nil {
		t.Fatal(err)
	}
	client := ent.NewClient(ent.Driver(entsqldialect.OpenDB(name, conn)))
	client.Use(entid.Hook(pool))
	return client
}

// checkClient creates rows with the client, and inserts one in SQL. They have the worker
// numbers of the process and of SQL.
func checkClient(t *testing.T, client *ent.Client, conn *sql.DB) {
	t.Helper()
	var made []int64
	add := func(rows ...*ent.IDItem) {
		for _, row := range rows {
			made = append(made, row.ID.Int64())
		}
	}
	one, err := client.IDItem.Create().SetName("a").SetN(1).Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(one)
	several, err := client.IDItem.CreateBulk(client.IDItem.Create().SetName("b").SetN(1), client.IDItem.Create().SetName("c").SetN(1)).Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(several...)
	run(t, conn, "INSERT INTO id_items (name, n) VALUES ('d', 2), ('e', 2)")
	for n, worker := range map[int]int64{1: 7, 2: 1023} {
		for _, id := range query(t, conn, fmt.Sprint("SELECT id FROM id_items WHERE n = ", n)) {
			if got := idgen.DefaultLayout().Decode(id).Worker; got != worker {
				t.Errorf("the id %d of a row with n = %d has worker number %d, want %d", id, n, got, worker)
			}
		}
	}
	for _, id := range made {
		if count(t, conn, fmt.Sprint("count(*) FROM id_items WHERE n = 1 AND id = ", id)) != 1 {
			t.Errorf("the table has no row with the id %d of the client", id)
		}
	}
	if all, different := countIDs(t, conn, "id_items"); all != 5 || different != 5 {
		t.Errorf("%d rows have %d different ids, want 5", all, different)
	}
}

// migrateItems runs ent's migration for a table.
func migrateItems(t *testing.T, name string, conn *sql.DB, table *schema.Table) {
	t.Helper()
	m, err := schema.NewMigrate(entsqldialect.OpenDB(name, conn))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Create(t.Context(), table); err != nil {
		t.Fatal(err)
	}
}

// itemsWithDefault is the table of a schema that has the annotation of the page. The client
// was generated without it.
func itemsWithDefault(expr schema.Expr) *schema.Table {
	id := *migrate.IDItemsTable.Columns[0]
	id.Default = expr
	table := *migrate.IDItemsTable
	table.Columns = append([]*schema.Column{&id}, table.Columns[1:]...)
	table.PrimaryKey = []*schema.Column{&id}
	return &table
}

// TestEntClient has a generated client create rows in a table with the default. The
// migration adds the default to a table that exists, and removes one that the schema does not
// declare.
func TestEntClient(t *testing.T) {
	t.Parallel()
	conn := postgreSQL(t).Connect(t)
	install(t, conn, sqlgen.Writer{})
	client := entClient(t, dialect.Postgres, conn)
	hasDefault := func() bool {
		return count(t, conn, "count(*) FROM information_schema.columns WHERE table_name = 'id_items' AND column_name = 'id' AND column_default = 'snowkey_next()'") == 1
	}
	migrateItems(t, dialect.Postgres, conn, migrate.IDItemsTable)
	run(t, conn, "ALTER TABLE id_items ALTER COLUMN id SET DEFAULT snowkey_next()")
	migrateItems(t, dialect.Postgres, conn, migrate.IDItemsTable)
	if hasDefault() {
		t.Error("the migration keeps a default that the schema does not declare")
	}

	for range 2 {
		migrateItems(t, dialect.Postgres, conn, itemsWithDefault("snowkey_next()"))
		if !hasDefault() {
			t.Fatal("the migration does not add the default that the schema declares")
		}
	}
	checkClient(t, client, conn)
}

// TestEntTrigger has ent's migration keep the trigger of MySQL and MariaDB. The migration
// removes the default of MariaDB, which INSERT … SELECT needs, unless the schema declares it.
func TestEntTrigger(t *testing.T) {
	t.Parallel()
	server := dbtest.MySQL(t)
	conn := server.Connect(t)
	installTrigger(t, server)
	client := entClient(t, dialect.MySQL, conn)
	migrateItems(t, dialect.MySQL, conn, migrate.IDItemsTable)
	addTrigger(t, server, "id_items")
	later := itemsWithDefault("0") // a later version of the program has one more column
	later.Columns = append(later.Columns, &schema.Column{Name: "note", Type: field.TypeString, Nullable: true})
	for _, tt := range []struct {
		table    *schema.Table
		default0 bool
	}{{migrate.IDItemsTable, false}, {itemsWithDefault("0"), true}, {later, true}} {
		migrateItems(t, dialect.MySQL, conn, tt.table)
		run(t, conn, "DELETE FROM id_items")
		checkClient(t, client, conn)
		_, err := conn.ExecContext(t.Context(), "INSERT INTO id_items (name, n) SELECT CONCAT(name, name), 2 FROM id_items")
		if want := tt.default0 || !server.MariaDB; (err == nil) != want {
			t.Errorf("INSERT … SELECT works: %v, want %v: %v", err == nil, want, err)
		}
	}
}
