package sqlgen

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// mySQL returns a database of MySQL.
func mySQL(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.MySQL(t)
	if db.MariaDB {
		t.Skipf("%s is not MySQL", db.Version)
	}
	return db
}

// onMySQL is without on MySQL.
func onMySQL(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements := dbtest.Must(w.MySQL())(t)
	return edited(t, statements, edits...)
}

// mariaDB returns a database of MariaDB.
func mariaDB(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.MySQL(t)
	if !db.MariaDB {
		t.Skipf("%s is not MariaDB", db.Version)
	}
	return db
}

// onMariaDB is without on MariaDB.
func onMariaDB(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements := dbtest.Must(w.MariaDB())(t)
	return edited(t, statements, edits...)
}

// many is a query with n rows, in which i counts from 1.
func many(n int, columns string) string {
	return fmt.Sprintf(series+"SELECT %s FROM n", n, columns)
}

// TestMySQLPage runs the SQL of docs/sql-default.md.
func TestMySQLPage(t *testing.T) {
	t.Parallel()
	db := mySQL(t).Connect(t)
	run(t, db, onMySQL(t, sqlgen.Writer{})...)
	db.SetMaxOpenConns(1) // for the variable
	for _, block := range blocks(t, "MySQL", "sql") {
		for statement := range strings.SplitSeq(strings.TrimSpace(block), ";\n") {
			run(t, db, statement)
		}
	}
	if n := count(t, db, "count(DISTINCT id) FROM orders WHERE id > 1000000"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	printed, err := os.ReadFile("../../docs/sql-default.md")
	if trigger := (sqlgen.Writer{}).MySQLTrigger("orders", "id"); err != nil || !strings.Contains(string(printed), strings.ReplaceAll(trigger, "`", "")) {
		t.Errorf("the page does not have %s", trigger)
	}
}
