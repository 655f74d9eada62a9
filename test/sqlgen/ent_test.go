//go:build !386

package sqlgen

import (
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	entsqldialect "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc/gen" // does not compile for 32 bits
	"entgo.io/ent/entc/load"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// A Person is what docs/sql-default.md shows for ent.
type Person struct{ ent.Schema }

func (Person) Mixin() []ent.Mixin {
	return []ent.Mixin{mixin.AnnotateFields(entid.Mixin{}, entsql.DefaultExpr("snowkey_next()"))}
}

func (Person) Fields() []ent.Field { return []ent.Field{field.String("name")} }

// ent's migration, which is Atlas, creates the default and keeps it.
func TestEnt(t *testing.T) {
	t.Parallel()
	db := ofPostgres.open(t)
	conn := db.Connect(t)
	install(t, conn, sqlgen.Writer{})
	person := dbtest.Must(load.UnmarshalSchema(dbtest.Must(load.MarshalSchema(Person{}))(t)))(t)
	graph := dbtest.Must(gen.NewGraph(&gen.Config{Package: "example.com/ent", Storage: &gen.Storage{Name: "sql", SchemaMode: gen.Unique | gen.Migrate}}, person))(t)
	for range 2 {
		tables := dbtest.Must(graph.Tables())(t)
		migrate := dbtest.Must(schema.NewMigrate(entsqldialect.OpenDB(dialect.Postgres, conn)))(t)
		dbtest.NoError(t, migrate.Create(t.Context(), tables...))
		checkDefault(t, conn, "persons")
	}
}
