package sqlgen

import (
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	entsqldialect "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/entc/load"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// A Purchase gets its id from gormid, and from the column default in SQL.
type Purchase struct {
	ID   pk.ID
	Name string
}

// A LaterPurchase is a Purchase of a later version of the program.
type LaterPurchase struct {
	Purchase
	Note string
}

func (LaterPurchase) TableName() string { return "purchases" }

// A Person is what docs/sql-default.md shows for ent.
type Person struct{ ent.Schema }

func (Person) Mixin() []ent.Mixin {
	return []ent.Mixin{mixin.AnnotateFields(entid.Mixin{}, entsql.DefaultExpr("snowkey_next()"))}
}

func (Person) Fields() []ent.Field { return []ent.Field{field.String("name")} }

// checkDefault inserts a row without an id, and compares the column's default.
func checkDefault(t *testing.T, db dbtest.DB, table string) {
	t.Helper()
	conn := db.Connect(t)
	var def string
	err := conn.QueryRowContext(t.Context(), "SELECT column_default FROM information_schema.columns WHERE table_name = $1 AND column_name = 'id'", table).Scan(&def)
	if err != nil || def != "snowkey_next()" {
		t.Errorf("the column default of %s is %q: %v", table, def, err)
	}
	id := query(t, conn, "INSERT INTO "+table+" (name) VALUES ('psql') RETURNING id")[0]
	if worker := idgen.DefaultLayout().Decode(id).Worker; worker != 1023 {
		t.Errorf("the id %d has worker number %d, want that of SQL", id, worker)
	}
}

// AutoMigrate keeps the default. Rows that the program creates have its own worker number.
func TestGORM(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	install(t, db.Connect(t), sqlgen.Writer{})
	program, err := gorm.Open(postgres.New(postgres.Config{Conn: db.Connect(t)}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := idgen.NewPool(idgen.Config{Worker: func(int) (int64, error) { return 7, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close(t.Context())
	if err := program.Use(gormid.New(gormid.Config{Source: pool})); err != nil {
		t.Fatal(err)
	}
	if err := program.AutoMigrate(&Purchase{}); err != nil {
		t.Fatal(err)
	}
	run(t, db.Connect(t), "ALTER TABLE purchases ALTER COLUMN id SET DEFAULT snowkey_next()")
	for _, model := range []any{&Purchase{}, &LaterPurchase{}} {
		if err := program.AutoMigrate(model); err != nil {
			t.Fatal(err)
		}
		checkDefault(t, db, "purchases")
	}
	rows := []Purchase{{Name: "a"}, {Name: "b"}}
	if err := program.Create(&rows).Error; err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if worker := pool.Layout().Decode(row.ID.Int64()).Worker; worker != 7 {
			t.Errorf("gormid left the id %d, with worker number %d", row.ID, worker)
		}
	}
	var stored int64
	if err := program.Model(&Purchase{}).Where("id IN ?", []pk.ID{rows[0].ID, rows[1].ID}).Count(&stored).Error; err != nil || stored != 2 {
		t.Errorf("%d of 2 rows have the id of the program: %v", stored, err)
	}
}

// ent's migration, which is Atlas, creates the default and keeps it.
func TestEnt(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	conn := db.Connect(t)
	install(t, conn, sqlgen.Writer{})
	text, err := load.MarshalSchema(Person{})
	if err != nil {
		t.Fatal(err)
	}
	person, err := load.UnmarshalSchema(text)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := gen.NewGraph(&gen.Config{Package: "example.com/ent", Storage: &gen.Storage{Name: "sql", SchemaMode: gen.Unique | gen.Migrate}}, person)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		tables, err := graph.Tables()
		if err != nil {
			t.Fatal(err)
		}
		migrate, err := schema.NewMigrate(entsqldialect.OpenDB(dialect.Postgres, conn))
		if err != nil {
			t.Fatal(err)
		}
		if err := migrate.Create(t.Context(), tables...); err != nil {
			t.Fatal(err)
		}
		checkDefault(t, db, "persons")
	}
}
