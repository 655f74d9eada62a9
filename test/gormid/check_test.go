package gormid_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/pk"
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

// found returns the findings of Check as severity:kind:table.column, in order.
func found(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*catalog.MismatchError](err)
	if !ok {
		t.Fatalf("got %v, want a *MismatchError", err)
	}
	var all []string
	for _, f := range e.Findings {
		if f.Text == "" || f.Remedy == "" || !strings.Contains(err.Error(), f.Text) || !strings.Contains(err.Error(), f.Remedy) {
			t.Errorf("%+v is not told in\n%v", f, err)
		}
		all = append(all, fmt.Sprintf("%s:%s:%s.%s", f.Severity, f.Kind, f.Column.Table.Name, f.Column.Name))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Check must accept the tables that AutoMigrate creates. If AutoMigrate runs again, it
// must not change anything that Check compares.
func TestCheckFits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		models := []any{&customer{}, &order{}, &group{}, &user{}}
		e := bare(t, db, models...)
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
		counted := bare(t, dbtest.Open(t, db.Dialect), &countedCustomer{})
		if err := gormid.Check(t.Context(), counted.DB, &countedCustomer{}); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckFinds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tables map[string][]string // by dialect
		models []any
		want   map[string]string
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
			name: "a foreign key that no model knows",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id bigint PRIMARY KEY)`, `CREATE TABLE visits (customer integer REFERENCES customers)`},
				"sqlite":   {`CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)`, `CREATE TABLE visits (customer TEXT REFERENCES customers)`},
			},
			models: []any{&appless{}},
			want:   map[string]string{"postgres": "blocker:narrow-child:visits.customer", "sqlite": "warning:text-child:visits.customer"},
		},
		{
			name: "a foreign key that nobody declared",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE orders (number text PRIMARY KEY, customer integer)`},
				"mysql":    {"CREATE TABLE orders (number VARCHAR(20) PRIMARY KEY, customer INT)"},
			},
			models: []any{&strayOrder{}},
			want:   map[string]string{"postgres": "blocker:narrow-child:orders.customer", "mysql": "blocker:narrow-child:orders.customer"},
		},
		{
			name:   "identity",
			tables: map[string][]string{"postgres": {`CREATE TABLE customers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)`}},
			models: []any{&appless{}},
			want:   map[string]string{"postgres": "blocker:always-generated:customers.id\nwarning:still-counts:customers.id"},
		},
		{
			name: "the model's text in a column of numbers",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id bigint PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE customers (id BIGINT PRIMARY KEY)"},
				"sqlite":   {`CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)`},
			},
			models: []any{&textCustomer{}},
			want: map[string]string{"postgres": "blocker:number-key:customers.id", "mysql": "blocker:number-key:customers.id",
				"sqlite": "blocker:number-key:customers.id"},
		},
		{
			name: "the model's numbers in a column of text",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id varchar(20) PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE customers (id VARCHAR(20) PRIMARY KEY)"},
				"sqlite":   {`CREATE TABLE customers (id TEXT NOT NULL PRIMARY KEY)`},
			},
			models: []any{&appless{}},
			want: map[string]string{"postgres": "blocker:text-key:customers.id", "mysql": "blocker:text-key:customers.id",
				"sqlite": "blocker:text-key:customers.id"},
		},
		{
			name: "text that is too short",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id varchar(18) PRIMARY KEY)`, `CREATE TABLE visits (customer char(10) REFERENCES customers)`},
				"mysql":    {"CREATE TABLE customers (id VARCHAR(18) PRIMARY KEY)", "CREATE TABLE visits (customer VARCHAR(10), FOREIGN KEY (customer) REFERENCES customers (id))"},
				"sqlite":   {`CREATE TABLE customers (id VARCHAR(18) NOT NULL PRIMARY KEY)`},
			},
			models: []any{&textCustomer{}},
			want: map[string]string{
				"postgres": "blocker:narrow-child:visits.customer\nblocker:narrow-key:customers.id",
				"mysql":    "blocker:narrow-child:visits.customer\nblocker:narrow-key:customers.id",
				"sqlite":   "",
			},
		},
		{
			name: "neither numbers nor text",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id uuid PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE customers (id DATE PRIMARY KEY)"},
			},
			models: []any{&appless{}},
			want:   map[string]string{"postgres": "blocker:not-numeric:customers.id", "mysql": "blocker:not-numeric:customers.id"},
		},
		{
			name:   "unsigned column",
			tables: map[string][]string{"mysql": {"CREATE TABLE customers (id BIGINT UNSIGNED PRIMARY KEY)"}},
			models: []any{&appless{}},
			want:   map[string]string{"mysql": "warning:sign-mismatch:customers.id"},
		},
		{
			name:   "unsigned column and model",
			tables: map[string][]string{"mysql": {"CREATE TABLE customers (id BIGINT UNSIGNED PRIMARY KEY)"}},
			models: []any{&rawCustomer{}},
			want:   map[string]string{"mysql": ""},
		},
		{
			name: "unsigned model",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id bigint PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE customers (id BIGINT PRIMARY KEY)"},
				"sqlite":   {`CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)`},
			},
			models: []any{&rawCustomer{}},
			want:   map[string]string{"postgres": "", "mysql": "warning:sign-mismatch:customers.id", "sqlite": ""},
		},
		{
			name: "a model that was forgotten when the counter was dropped",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id bigint PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE customers (id BIGINT PRIMARY KEY)"},
				"sqlite":   {`CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)`},
			},
			models: []any{&countedCustomer{}},
			want: map[string]string{"postgres": "blocker:not-counting:customers.id", "mysql": "blocker:not-counting:customers.id",
				"sqlite": "blocker:not-counting:customers.id"},
		},
		{
			name: "no column, no table",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE orders (id bigint PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE orders (id BIGINT PRIMARY KEY)"},
				"sqlite":   {`CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)`},
			},
			models: []any{&appless{}, &order{}},
			want: map[string]string{
				"postgres": "blocker:missing-column:orders.customer_id\nblocker:missing-table:customers.",
				"mysql":    "blocker:missing-column:orders.customer_id\nblocker:missing-table:customers.",
				"sqlite":   "blocker:missing-column:orders.customer_id\nblocker:missing-table:customers.",
			},
		},
		{
			name: "another schema",
			tables: map[string][]string{
				"postgres": {`CREATE SCHEMA app`, `CREATE TABLE customers (id bigint PRIMARY KEY)`, `CREATE TABLE app.customers (id integer PRIMARY KEY)`},
				"mysql":    {"CREATE TABLE customers (id BIGINT PRIMARY KEY)"},
				"sqlite":   {`CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY)`},
			},
			models: []any{&appCustomer{}, &appless{}},
			want:   map[string]string{"postgres": "blocker:narrow-key:customers.id", "mysql": "blocker:missing-table:customers.", "sqlite": "blocker:missing-table:customers."},
		},
		{
			name: "a join table",
			tables: map[string][]string{
				"postgres": {`CREATE TABLE customers (id bigint PRIMARY KEY)`, `CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint)`,
					`CREATE TABLE customer_groups (customer_id integer, group_id char(12))`},
				"mysql": {"CREATE TABLE customers (id BIGINT PRIMARY KEY)", "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT)",
					"CREATE TABLE customer_groups (customer_id INT, group_id CHAR(12))"},
			},
			models: []any{&customer{}},
			want: map[string]string{
				"postgres": "blocker:narrow-child:customer_groups.customer_id\nblocker:narrow-child:customer_groups.group_id",
				"mysql":    "blocker:narrow-child:customer_groups.customer_id\nblocker:narrow-child:customer_groups.group_id",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				if tc.tables[db.Dialect] == nil {
					return // this case doesn't exist on this database
				}
				e := bare(t, db)
				for _, statement := range tc.tables[db.Dialect] {
					if _, err := e.conn.Exec(statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				err := gormid.Check(t.Context(), e.DB, tc.models...)
				if got := found(t, err); got != tc.want[db.Dialect] {
					t.Errorf("found\n%s\nwant\n%s\n%v", got, tc.want[db.Dialect], err)
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
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		e := bare(t, db, &countedCustomer{})
		migrate(t, e.DB, &appless{})
		want := map[string]string{"postgres": "warning", "mysql": "blocker", "sqlite": "blocker"}[db.Dialect] + ":still-counts:customers.id"
		if got := found(t, gormid.Check(t.Context(), e.DB, &appless{})); got != want {
			t.Errorf("found %s, want %s", got, want)
		}
	})
}

// If the plugin would refuse a declaration, Check must report it along with the columns
// of the other models.
func TestCheckDeclarations(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	err := gormid.Check(t.Context(), e.DB, &narrowCustomer{}, &order{}, "no model")
	wantFieldError(t, err, "ID", "cannot hold a 64-bit key")
	if got, want := found(t, err), "blocker:missing-table:orders."; got != want {
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
