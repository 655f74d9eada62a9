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
	textCustomer struct {
		ID pk.Text `gorm:"size:20"`
	}
	rawCustomer struct {
		ID uint64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	}
	countedCustomer struct {
		ID   int64
		Name string
	}
	narrowCustomer struct {
		ID int32 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	}
	appCustomer struct{ ID pk.ID }
	strayOrder  struct {
		Number   string `gorm:"primaryKey"`
		Customer pk.ID  // a foreign key, though no relation says so
	}
)

func (textCustomer) TableName() string    { return "customers" }
func (rawCustomer) TableName() string     { return "customers" }
func (countedCustomer) TableName() string { return "customers" }
func (narrowCustomer) TableName() string  { return "customers" }
func (appCustomer) TableName() string     { return "app.customers" }
func (strayOrder) TableName() string      { return "orders" }

// Check must accept the tables that AutoMigrate creates. If AutoMigrate runs again, it
// must not change anything that Check compares.
func TestCheckFits(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		models := []any{&customer{}, &order{}, &group{}, &user{}}
		e := bare(t, db, models...)
		wantFieldError(t, gormid.Check(t.Context(), e.DB, &order{}), "ID", "the database has no plugin")
		use(t, e.DB, gormid.Config{Source: e.source})
		for range 2 {
			if err := gormid.Check(t.Context(), e.DB, models...); err != nil {
				t.Error(err)
			}
			migrate(t, e.DB, models...)
		}
		// Sessions and transactions use the same database.
		if err := gormid.Check(t.Context(), e.Session(&gorm.Session{PrepareStmt: true}), models...); err != nil {
			t.Error(err)
		}
		counted := bare(t, reuse.Open(t, db.Dialect), &countedCustomer{})
		if err := gormid.Check(t.Context(), counted.DB, &countedCustomer{}); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckFinds(t *testing.T) {
	const (
		number = "CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)"
		text   = "CREATE TABLE customers (id VARCHAR(20) NOT NULL PRIMARY KEY)"
	)
	for _, tc := range []struct {
		name   string
		tables map[string][]string // by dialect; "" is for all that are not in the map
		models []any
		want   map[string]string // as tables
	}{
		{
			name: "legacy",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id serial PRIMARY KEY)`, `CREATE TABLE orders (id bigint PRIMARY KEY, customer_id integer REFERENCES customers)`},
				"mysql":    {"CREATE TABLE customers (id INT AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id INT, FOREIGN KEY (customer_id) REFERENCES customers (id))"},
				"sqlite":   {`CREATE TABLE customers (id INTEGER PRIMARY KEY)`, `CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer_id INTEGER REFERENCES customers)`},
			},
			models: []any{&appless{}, &order{}},
			want: map[string]string{
				"postgres": "blocker:narrow-child:orders.customer_id\nblocker:narrow-key:customers.id\nwarning:still-counts:customers.id",
				"mysql":    "blocker:narrow-child:orders.customer_id\nblocker:narrow-key:customers.id\nblocker:still-counts:customers.id",
				"sqlite":   "blocker:still-counts:customers.id",
			},
		},
		{
			name:   "a foreign key that is not declared",
			tables: map[string][]string{"": {"CREATE TABLE orders (number VARCHAR(20) PRIMARY KEY, customer INT)"}},
			models: []any{&strayOrder{}},
			want:   map[string]string{"": "blocker:narrow-child:orders.customer", "sqlite": ""},
		},
		{"the model's text in a column of numbers", map[string][]string{"": {number}}, []any{&textCustomer{}}, map[string]string{"": "blocker:number-key:customers.id"}},
		{"the model's numbers in a column of text", map[string][]string{"": {text}}, []any{&appless{}}, map[string]string{"": "blocker:text-key:customers.id"}},
		{"unsigned model", map[string][]string{"": {number}}, []any{&rawCustomer{}}, map[string]string{"mysql": "warning:sign-mismatch:customers.id"}},
		{"a model that was forgotten when the counter was dropped", map[string][]string{"": {number}}, []any{&countedCustomer{}}, map[string]string{"": "blocker:not-counting:customers.id"}},
		{
			name:   "no column, no table",
			tables: map[string][]string{"": {"CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)"}},
			models: []any{&appless{}, &order{}},
			want:   map[string]string{"": "blocker:missing-column:orders.customer_id\nblocker:missing-table:customers."},
		},
		{
			name:   "another schema",
			tables: map[string][]string{"": {number}, "postgres": {`CREATE SCHEMA app`, number, `CREATE TABLE app.customers (id integer PRIMARY KEY)`}},
			models: []any{&appCustomer{}, &appless{}},
			want:   map[string]string{"": "blocker:missing-table:customers.", "postgres": "blocker:narrow-key:customers.id"},
		},
		{
			name: "a join table",
			tables: map[string][]string{"": {
				number, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer_id BIGINT)",
				"CREATE TABLE customer_groups (customer_id INT, group_id CHAR(12))",
			}},
			models: []any{&customer{}},
			want:   map[string]string{"": "blocker:narrow-child:customer_groups.customer_id\nblocker:narrow-child:customer_groups.group_id", "sqlite": ""},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reuse.Each(t, func(t *testing.T, db dbtest.DB) {
				tables, want := tc.tables[db.Dialect], tc.want[""]
				if tables == nil {
					tables = tc.tables[""]
				}
				if tables == nil {
					return // this case doesn't exist on this database
				}
				if w, ok := tc.want[db.Dialect]; ok {
					want = w
				}
				e := bare(t, db)
				use(t, e.DB, gormid.Config{})
				for _, statement := range tables {
					if _, err := e.conn.Exec(statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				err := gormid.Check(t.Context(), e.DB, tc.models...)
				if got := idtest.Findings(t, err); got != want {
					t.Errorf("found\n%s\nwant\n%s\n%v", got, want, err)
				}
			})
		})
	}
}

// appless is a customer that has no relations.
type appless struct{ ID pk.ID }

func (appless) TableName() string { return "customers" }

// AutoMigrate accepts these tables without an error. However, it doesn't widen any
// column on Postgres, and doesn't remove auto-increment from any database.
func TestCheckAfterAutoMigrate(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		e := bare(t, db, &countedCustomer{})
		migrate(t, e.DB, &appless{})
		want := map[string]string{"postgres": "warning", "mysql": "blocker", "sqlite": "blocker"}[db.Dialect] + ":still-counts:customers.id"
		if got := idtest.Findings(t, gormid.Check(t.Context(), e.DB, &appless{})); got != want {
			t.Errorf("found %s, want %s", got, want)
		}
	})
}

// If the plugin would refuse a declaration, Check must report it along with the columns
// of the other models.
func TestCheckDeclarations(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	use(t, e.DB, gormid.Config{})
	err := gormid.Check(t.Context(), e.DB, &narrowCustomer{}, &order{}, "no model")
	wantFieldError(t, err, "ID", "cannot hold a 64-bit key")
	type quoted struct {
		ID   pk.ID
		Boss *pk.ID `json:"boss,omitempty,string"`
	}
	wantFieldError(t, gormid.Check(t.Context(), e.DB, &quoted{}), "Boss", "has the option string in its json tag")
	if got, want := idtest.Findings(t, err), "blocker:missing-table:orders."; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if !strings.Contains(err.Error(), "no model") {
		t.Errorf("the error does not name what is no model: %v", err)
	}
}

func TestCheckNothing(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	if err := gormid.Check(t.Context(), e.DB); err == nil {
		t.Error("no models were found to fit")
	}
	if err := gormid.Check(t.Context(), nil, &order{}); err == nil {
		t.Error("no database was found to fit")
	}
}
