package sqlgen

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// process returns the pool of a program. The tests that are programs share it, because they
// run in parallel.
var process = sync.OnceValues(func() (*idgen.Pool, error) {
	return idgen.NewPool(idgen.Config{Worker: func(int) (int64, error) { return 7, nil }})
})

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

// A Sale is a Purchase whose tag declares the column default, as on the page.
type Sale struct {
	ID   pk.ID `gorm:"type:bigint DEFAULT snowkey_next()"`
	Name string
}

// A LaterSale is a Sale of a later version of the program.
type LaterSale struct {
	Sale
	Note string
}

func (LaterSale) TableName() string { return "sales" }

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

// gormProgram returns the database of a program that has created the table of Purchase, and
// the pool of its keys.
func gormProgram(t *testing.T, dialector gorm.Dialector) (*gorm.DB, *idgen.Pool) {
	t.Helper()
	program, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := process()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Use(gormid.New(gormid.Config{Source: pool})); err != nil {
		t.Fatal(err)
	}
	if err := program.AutoMigrate(&Purchase{}); err != nil {
		t.Fatal(err)
	}
	return program, pool
}

// AutoMigrate keeps the default. Rows that the program creates have its own worker number.
func TestGORM(t *testing.T) {
	t.Parallel()
	db := postgreSQL(t)
	install(t, db.Connect(t), sqlgen.Writer{})
	program, pool := gormProgram(t, postgres.New(postgres.Config{Conn: db.Connect(t)}))
	run(t, db.Connect(t), "ALTER TABLE purchases ALTER COLUMN id SET DEFAULT snowkey_next()")
	for table, models := range map[string][]any{"purchases": {&Purchase{}, &LaterPurchase{}}, "sales": {&Sale{}, &Sale{}, &LaterSale{}}} {
		for _, model := range models {
			if err := program.AutoMigrate(model); err != nil {
				t.Fatal(err)
			}
			checkDefault(t, db, table)
		}
	}
	if err := gormid.Check(t.Context(), program, &LaterPurchase{}, &LaterSale{}); err != nil {
		t.Error(err)
	}
	purchases, sales := []Purchase{{Name: "a"}, {Name: "b"}}, []Sale{{Name: "a"}, {Name: "b"}}
	for _, rows := range []any{&purchases, &sales} {
		if err := program.Create(rows).Error; err != nil {
			t.Fatal(err)
		}
	}
	checkProgram(t, program, pool, &Purchase{}, purchases[0].ID, purchases[1].ID)
	checkProgram(t, program, pool, &Sale{}, sales[0].ID, sales[1].ID)
}

// checkProgram checks that two rows of the program have ids of its pool, and that the table
// has these rows.
func checkProgram(t *testing.T, program *gorm.DB, pool *idgen.Pool, model any, ids ...pk.ID) {
	t.Helper()
	for _, id := range ids {
		if worker := pool.Layout().Decode(id.Int64()).Worker; worker != 7 {
			t.Errorf("gormid left the id %d of %T, with worker number %d", id, model, worker)
		}
	}
	var stored int64
	if err := program.Model(model).Where("id IN ?", ids).Count(&stored).Error; err != nil || stored != 2 {
		t.Errorf("%d of 2 rows of %T have the id of the program: %v", stored, model, err)
	}
}

// AutoMigrate keeps the trigger of MySQL and MariaDB. Rows that the program creates have its
// own worker number.
func TestGORMTrigger(t *testing.T) {
	t.Parallel()
	server := dbtest.MySQL(t)
	conn := server.Connect(t)
	installTrigger(t, server)
	program, pool := gormProgram(t, mysql.New(mysql.Config{Conn: conn}))
	addTrigger(t, server, "purchases")
	for _, model := range []any{&Purchase{}, &Purchase{}, &LaterPurchase{}} {
		if err := program.AutoMigrate(model); err != nil {
			t.Fatal(err)
		}
		checkTrigger(t, conn, "purchases")
	}
	if err := gormid.Check(t.Context(), program, &LaterPurchase{}); err != nil {
		t.Error(err)
	}
	rows := []Purchase{{Name: "a"}, {Name: "b"}}
	if err := program.Create(&rows).Error; err != nil {
		t.Fatal(err)
	}
	checkProgram(t, program, pool, &Purchase{}, rows[0].ID, rows[1].ID)
}

// installTrigger executes the SQL for MySQL or MariaDB.
func installTrigger(t *testing.T, server dbtest.DB) {
	t.Helper()
	on := onMySQL
	if server.MariaDB {
		on = onMariaDB
	}
	run(t, server.Connect(t), on(t, sqlgen.Writer{})...)
}

// addTrigger has the column id of a table filled, as on the page.
func addTrigger(t *testing.T, server dbtest.DB, table string) {
	t.Helper()
	db := server.Connect(t)
	if server.MariaDB {
		run(t, db, "ALTER TABLE "+table+" ALTER COLUMN id SET DEFAULT 0")
	}
	run(t, db, sqlgen.Writer{}.MySQLTrigger(table, "id"))
}

// checkTrigger inserts rows without an id, which must get ids of SQL.
func checkTrigger(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	for _, rows := range []string{"VALUES ('mysql'), ('mariadb')", "SELECT name FROM " + table} { // MariaDB needs the default for the second one
		before := count(t, db, "COALESCE(MAX(id), 0) FROM "+table)
		run(t, db, "INSERT INTO "+table+" (name) "+rows)
		for _, id := range query(t, db, fmt.Sprintf("SELECT id FROM %s WHERE id > %d OR id < 1000000", table, before)) {
			if worker := idgen.DefaultLayout().Decode(id).Worker; worker != 1023 {
				t.Errorf("the id %d after %d has worker number %d, want that of SQL", id, before, worker)
			}
		}
		if after := count(t, db, "MAX(id) FROM "+table); after <= before {
			t.Errorf("%s: the last id is %d, and was %d before", rows, after, before)
		}
	}
}
