package catalog_test

import (
	"testing"

	entgo "entgo.io/ent"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	gormsqlite "github.com/glebarez/sqlite"
	gormmysql "gorm.io/driver/mysql"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// The columns that ent creates for numeric ids count, whereas those for the mixin's ids
// don't.
func TestTablesOfEnt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		dialects := map[string]string{"postgres": dialect.Postgres, "mysql": dialect.MySQL, "sqlite": dialect.SQLite}
		driver := entsql.OpenDB(dialects[db.Dialect], conn)
		id := &entschema.Column{Name: "id", Type: field.TypeInt, Increment: true}
		owners := entschema.NewTable("owners").AddPrimary(id)
		ownerID := &entschema.Column{Name: "owner_id", Type: field.TypeInt, Nullable: true}
		cars := entschema.NewTable("cars").AddPrimary(&entschema.Column{Name: "id", Type: field.TypeInt32, Increment: true}).AddColumn(ownerID)
		cars.AddForeignKey(&entschema.ForeignKey{Symbol: "cars_owner", Columns: []*entschema.Column{ownerID}, RefTable: owners, RefColumns: []*entschema.Column{id}})
		ent, err := entschema.NewMigrate(driver)
		if err != nil {
			t.Fatal(err)
		}
		tables := []*entschema.Table{owners, cars, filledTable("ids", entid.Mixin{}), filledTable("strings", entid.For[pk.String]{}),
			filledTable("texts", entid.For[pk.Text]{}), filledTable("sorts", entid.For[pk.SortText]{})}
		if err := ent.Create(t.Context(), tables...); err != nil {
			t.Fatal(err)
		}
		report := inspect(t, conn, catalog.Options{})
		k := key(t, report, "owners")
		require(t, "children", children(k), "cars.owner_id")
		require(t, "mechanism", string(k.Mechanism), map[string]string{
			"postgres": "identity by default", "mysql": "auto_increment", "sqlite": "autoincrement"}[db.Dialect])
		if bits := key(t, report, "cars").Column.Bits; bits != map[string]int{"postgres": 32, "mysql": 32, "sqlite": 64}[db.Dialect] {
			t.Errorf("cars has %d bits", bits)
		}
		if len(report.Keys) != 2 {
			t.Errorf("%d keys:\n%s", len(report.Keys), text(t, report))
		}
	})
}

// filledTable returns the table that ent generates for a schema that has the mixin and
// an edge to itself.
func filledTable(name string, mixin entgo.Mixin) *entschema.Table {
	d := mixin.Fields()[0].Descriptor()
	id := &entschema.Column{Name: "id", Type: d.Info.Type, SchemaType: d.SchemaType}
	parent := &entschema.Column{Name: "parent_id", Type: d.Info.Type, SchemaType: d.SchemaType, Nullable: true}
	table := entschema.NewTable(name).AddPrimary(id).AddColumn(parent)
	return table.AddForeignKey(&entschema.ForeignKey{Symbol: name + "_parent", Columns: []*entschema.Column{parent}, RefTable: table, RefColumns: []*entschema.Column{id}})
}

type account struct {
	gorm.Model
	Items []item
}

type item struct {
	ID        int32
	AccountID uint
}

type filled struct {
	ID   pk.ID
	Name string
}

// The same is true of GORM and its plugin.
func TestTablesOfGORM(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		dialector := map[string]gorm.Dialector{
			"postgres": gormpostgres.New(gormpostgres.Config{Conn: conn}),
			"mysql":    gormmysql.New(gormmysql.Config{Conn: conn}),
			"sqlite":   gormsqlite.Dialector{Conn: conn},
		}[db.Dialect]
		g, err := gorm.Open(dialector, &gorm.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Use(gormid.New(gormid.Config{})); err != nil {
			t.Fatal(err)
		}
		if err := g.AutoMigrate(&account{}, &item{}, &filled{}); err != nil {
			t.Fatal(err)
		}
		report := inspect(t, conn, catalog.Options{})
		k := key(t, report, "accounts")
		require(t, "children", children(k), "items.account_id")
		require(t, "mechanism", string(k.Mechanism), map[string]string{
			"postgres": "serial", "mysql": "auto_increment", "sqlite": "autoincrement"}[db.Dialect])
		if want := db.Dialect == "mysql"; k.Column.Unsigned != want || k.ForeignKeys[0].Child.Unsigned != want {
			t.Errorf("the key and its child: %+v, %+v", k.Column, k.ForeignKeys[0].Child)
		}
		if len(report.Keys) != 2 {
			t.Errorf("%d keys:\n%s", len(report.Keys), text(t, report))
		}
	})
}
