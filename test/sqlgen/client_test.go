//go:build clients

package sqlgen

import (
	"testing"

	"entgo.io/ent/dialect"
	entsqldialect "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/matrix/ent"
	"github.com/snowkey-go/snowkey/test/matrix/ent/migrate"
	_ "github.com/snowkey-go/snowkey/test/matrix/ent/runtime"
)

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

// TestEntClient has a generated client create rows in a table with the default, or with the
// trigger of MySQL and MariaDB, which ent's migration keeps. It removes a default that the
// schema does not declare. MariaDB needs one for INSERT … SELECT.
func TestEntClient(t *testing.T) {
	t.Parallel()
	pool := dbtest.Must(process())(t)
	dbtest.EachServer(t, func(t *testing.T, server dbtest.DB) {
		t.Parallel()
		name, expr := dialect.Postgres, schema.Expr("snowkey_next()")
		if server.Dialect == "mysql" {
			name, expr = dialect.MySQL, "0"
		}
		installDefault(t, server)
		conn := server.Connect(t)
		client := ent.NewClient(ent.Driver(entsqldialect.OpenDB(name, conn)))
		client.Use(entid.Hook(pool))
		dbtest.NoError(t, client.Schema.Create(t.Context()))
		addDefault(t, server, "id_items")
		later := itemsWithDefault(expr) // a later version of the program has one more column
		later.Columns = append(later.Columns, &schema.Column{Name: "note", Type: field.TypeString, Nullable: true})
		for _, tt := range []struct {
			table    *schema.Table
			declares bool
		}{{migrate.IDItemsTable, false}, {itemsWithDefault(expr), true}, {itemsWithDefault(expr), true}, {later, true}} {
			m := dbtest.Must(schema.NewMigrate(entsqldialect.OpenDB(name, conn)))(t)
			dbtest.NoError(t, m.Create(t.Context(), tt.table))
			dbtest.Exec(t, conn, "DELETE FROM id_items")
			items := []*ent.IDItemCreate{client.IDItem.Create().SetName("a").SetN(1), client.IDItem.Create().SetName("b").SetN(1)}
			dbtest.NoError(t, client.IDItem.CreateBulk(items...).Exec(t.Context()))
			_, err := conn.ExecContext(t.Context(), "INSERT INTO id_items (name, n) SELECT CONCAT(name, name), 2 FROM id_items")
			works := tt.declares || server.Dialect == "mysql" && !server.MariaDB
			if (err == nil) != works {
				t.Errorf("INSERT … SELECT works: %v, want %v: %v", err == nil, works, err)
			}
			if works || server.Dialect == "mysql" {
				dbtest.Exec(t, conn, "INSERT INTO id_items (name, n) VALUES ('d', 2), ('e', 2)")
			}
			checkWorkers(t, 7, query(t, conn, "SELECT id FROM id_items WHERE n = 1"))
			checkWorkers(t, 1023, query(t, conn, "SELECT id FROM id_items WHERE n = 2"))
		}
	})
}
