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
	"github.com/snowkey-go/snowkey/internal/sqlgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// process returns the pool of a program, with worker number 7. The tests that are programs
// share it, because they run in parallel.
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

// installDefault executes the SQL for a server.
func installDefault(t *testing.T, server dbtest.DB) {
	t.Helper()
	dbtest.Exec(t, server.Since(t, 15).Connect(t), kindOf(server).on(t, sqlgen.Writer{})...)
}

// addDefault has the column id of a table filled, as on the page.
func addDefault(t *testing.T, server dbtest.DB, table string) {
	t.Helper()
	db := server.Connect(t)
	if server.Dialect == "postgres" {
		dbtest.Exec(t, db, "ALTER TABLE "+table+" ALTER COLUMN id SET DEFAULT snowkey_next()")
		return
	}
	if server.MariaDB {
		dbtest.Exec(t, db, "ALTER TABLE "+table+" ALTER COLUMN id SET DEFAULT 0")
	}
	dbtest.Exec(t, db, trigger(table))
}

// checkDefault inserts rows without an id, which must get ids of SQL.
func checkDefault(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	for _, rows := range []string{"VALUES ('tea'), ('coffee')", "SELECT name FROM " + table} { // MariaDB needs the default for the second one
		before := count(t, db, "COALESCE(MAX(id), 0) FROM "+table)
		dbtest.Exec(t, db, "INSERT INTO "+table+" (name) "+rows)
		checkWorkers(t, 1023, query(t, db, fmt.Sprintf("SELECT id FROM %s WHERE id > %d OR id < 1000000", table, before)))
		if after := count(t, db, "MAX(id) FROM "+table); after <= before {
			t.Errorf("%s: the last id is %d, and was %d before", rows, after, before)
		}
	}
}

// checkWorkers compares the worker numbers of ids, which are 7 for the program and 1023 for SQL.
func checkWorkers(t *testing.T, want int64, ids []int64) {
	t.Helper()
	for _, id := range ids {
		if worker := idgen.DefaultLayout().Decode(id).Worker; worker != want {
			t.Errorf("the id %d has worker number %d, want %d", id, worker, want)
		}
	}
}

// AutoMigrate keeps the default, and the trigger of MySQL and MariaDB. Rows that the program
// creates have its own worker number.
func TestGORM(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, server dbtest.DB) {
		t.Parallel()
		installDefault(t, server)
		conn := server.Connect(t)
		dialector, tables := mysql.New(mysql.Config{Conn: conn}), map[string][]any{"purchases": {&Purchase{}, &Purchase{}, &LaterPurchase{}}}
		if server.Dialect == "postgres" {
			dialector = postgres.New(postgres.Config{Conn: conn})
			tables["sales"] = []any{&Sale{}, &Sale{}, &LaterSale{}}
		}
		program := dbtest.Must(gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}))(t)
		dbtest.NoError(t, program.Use(gormid.New(gormid.Config{Source: dbtest.Must(process())(t)})))
		dbtest.NoError(t, program.AutoMigrate(&Purchase{}))
		addDefault(t, server, "purchases")
		for table, models := range tables {
			for _, model := range models {
				dbtest.NoError(t, program.AutoMigrate(model))
				checkDefault(t, conn, table)
			}
			dbtest.NoError(t, gormid.Check(t.Context(), program, models[2]))
			rows := []Purchase{{Name: "a"}, {Name: "b"}}
			dbtest.NoError(t, program.Table(table).Create(&rows).Error)
			ids := query(t, conn, "SELECT id FROM "+table+" WHERE name IN ('a', 'b') ORDER BY id")
			if len(ids) != 2 || ids[0] != rows[0].ID.Int64() || ids[1] != rows[1].ID.Int64() {
				t.Errorf("%s has the ids %d, and the program %v", table, ids, rows)
			}
			checkWorkers(t, 7, ids)
		}
	})
}
