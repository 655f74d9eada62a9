package gormid_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// A customer has orders. The keys of both are filled in.
type customer struct {
	ID     pk.ID
	Orders []order
	Groups []*group `gorm:"many2many:customer_groups"`
}

type order struct {
	ID         pk.ID
	CustomerID pk.ID
}

type group struct {
	ID pk.SortText `gorm:"size:13"`
}

// These are the same tables, as seen by other programs.
type (
	countedCustomer struct {
		ID   int64
		Name string
	}
	appCustomer struct{ ID pk.ID }
	appless     struct{ ID pk.ID } // a customer that has no relations
	strayOrder  struct {
		Number   string `gorm:"primaryKey"`
		Customer pk.ID  // a foreign key, though no relation says so
	}
)

func (countedCustomer) TableName() string { return "customers" }
func (appCustomer) TableName() string     { return "app.customers" }
func (appless) TableName() string         { return "customers" }
func (strayOrder) TableName() string      { return "orders" }

// Check must accept the tables that AutoMigrate creates, once and again.
func TestCheckFits(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		models := []any{&customer{}, &order{}, &group{}, &user{}}
		e := bare(t, db, models...)
		idtest.WantFieldError(t, gormid.Check(t.Context(), e.DB, &order{}), "ID", "the database has no plugin")
		use(t, e.DB, gormid.Config{Source: e.source})
		for range 2 {
			dbtest.NoError(t, gormid.Check(t.Context(), e.DB, models...))
			migrate(t, e.DB, models...)
		}
		// Sessions and transactions use the same database.
		dbtest.NoError(t, gormid.Check(t.Context(), e.Session(&gorm.Session{PrepareStmt: true}), models...))
		counted := bare(t, reuse.Open(t, db.Dialect), &countedCustomer{})
		dbtest.NoError(t, gormid.Check(t.Context(), counted.DB, &countedCustomer{}))
	})
}

func TestCheckFinds(t *testing.T) {
	const (
		number = "CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)"
		keyed  = "CREATE TABLE keyed (name VARCHAR(20), id BIGINT NOT NULL PRIMARY KEY)"
		text   = "CREATE TABLE keyed (name VARCHAR(20), id VARCHAR(20) NOT NULL PRIMARY KEY)"
	)
	type (
		check  = rowtest.Check[any]
		tables = map[string][]string
		want   = map[string]string
	)
	one := func(name, table string, model any, found want) check {
		return check{Name: name, Tables: tables{"": {table}}, Models: []any{model}, Want: found}
	}
	for _, c := range []check{
		one("a foreign key that is not declared", "CREATE TABLE orders (number VARCHAR(20) PRIMARY KEY, customer INT)", &strayOrder{},
			want{"": "blocker:narrow-child:orders.customer", "sqlite": ""}),
		one("the model's text in a column of numbers", keyed, &ofSize20[pk.Text]{}, want{"": "blocker:number-key:keyed.id"}),
		one("the model's numbers in a column of text", text, &byType[pk.ID]{}, want{"": "blocker:text-key:keyed.id"}),
		one("unsigned model", keyed, &byTag[uint64]{}, want{"mysql": "warning:sign-mismatch:keyed.id"}),
		one("a counter that was dropped", number, &countedCustomer{}, want{"": "blocker:not-counting:customers.id"}),
		{
			Name:   "another schema",
			Tables: tables{"": {number}, "postgres": {"CREATE SCHEMA app", number, "CREATE TABLE app.customers (id integer PRIMARY KEY)"}},
			Models: []any{&appCustomer{}, &appless{}},
			Want:   want{"": "blocker:missing-table:customers.", "postgres": "blocker:narrow-key:customers.id"},
		},
		{
			Name: "a join table",
			Tables: tables{"": {
				number, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer_id BIGINT)",
				"CREATE TABLE customer_groups (customer_id INT, group_id CHAR(12))",
			}},
			Models: []any{&customer{}},
			Want:   want{"": "blocker:narrow-child:customer_groups.customer_id\nblocker:narrow-child:customer_groups.group_id", "sqlite": ""},
		},
	} {
		t.Run(c.Name, func(t *testing.T) {
			reuse.Each(t, func(t *testing.T, db dbtest.DB) {
				c.Run(t, db, func() error { return gormid.Check(t.Context(), open(t, db).DB, c.Models...) })
			})
		})
	}
}

// If the plugin would refuse a declaration, Check must report it along with the columns
// of the other models.
func TestCheckDeclarations(t *testing.T) {
	e := open(t, dbtest.SQLite(t))
	err := gormid.Check(t.Context(), e.DB, &byTag[int32]{}, &order{}, "no model")
	idtest.WantFieldError(t, err, "ID", "cannot hold a 64-bit key")
	type quoted struct {
		ID   pk.ID
		Boss *pk.ID `json:"boss,omitempty,string"`
	}
	idtest.WantFieldError(t, gormid.Check(t.Context(), e.DB, &quoted{}), "Boss", "has the option string in its json tag")
	if got, want := idtest.Findings(t, err), "blocker:missing-table:orders."; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if !strings.Contains(err.Error(), "no model") {
		t.Errorf("the error does not name what is no model: %v", err)
	}
	if gormid.Check(t.Context(), e.DB) == nil || gormid.Check(t.Context(), nil, &order{}) == nil {
		t.Error("no models, or no database, were found to fit")
	}
}
