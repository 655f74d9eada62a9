package sqlgen

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A kind is what the tests do differently on PostgreSQL, MySQL and MariaDB.
type kind struct {
	dialect    string // "postgres" or "mysql"
	mariaDB    bool
	printed    string // the name of the dialect for sqlgen
	store      func(*sql.DB) *sqlstore.Store
	w, patient sqlgen.Writer
	column     string              // the type of the key
	some       string              // a query of many ids
	drop, all  []string            // drop the functions, and what they keep
	drops      map[string][]string // see TestDropped
	kept       int                 // ids of a block that a session may go on with after a drop
	programs   [2]string           // that dump and restore
}

// The first call of a session waits for MaxClockSkew on MariaDB, so it has a short one.
var quick = sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond}

const sequences = "DROP SEQUENCE snowkey_next_counter, snowkey_next_current, snowkey_next_history"

var ofPostgres = kind{
	dialect: "postgres", printed: "postgres", store: sqlstore.Postgres, patient: patient, column: "bigint DEFAULT snowkey_next()",
	some: "SELECT snowkey_next() UNION ALL SELECT snowkey_next(5000) UNION ALL SELECT snowkey_next()",
	drop: printed("postgres", "").Drop, all: []string{sequences},
	drops: map[string][]string{
		"the functions":                   printed("postgres", "").Drop,
		"all":                             append(printed("postgres", "").Drop, sequences),
		"the counter":                     {"DROP SEQUENCE snowkey_next_counter"},
		"the history":                     {"DROP SEQUENCE snowkey_next_history"},
		"the current sequence":            {"DROP SEQUENCE snowkey_next_current"},
		"the counter, restarted":          {"ALTER SEQUENCE snowkey_next_counter RESTART"},
		"the current sequence, restarted": {"ALTER SEQUENCE snowkey_next_current RESTART"},
	},
	programs: [2]string{"pg_dump", "psql"},
}

var ofMariaDB = mySQLKind(kind{
	mariaDB: true, printed: "mariadb", w: quick,
	patient: sqlgen.Writer{MaxClockSkew: 50 * time.Millisecond, Window: 10 * time.Minute},
	column:  "BIGINT NOT NULL DEFAULT 0", some: "SELECT snowkey_next() FROM seq_1_to_200",
	drop: printed("mariadb", "").Drop, all: []string{"DROP TABLE snowkey_next_counter, snowkey_next_history", "DROP SEQUENCE snowkey_next_sessions"},
	kept: 64, programs: [2]string{"mariadb-dump", "mariadb"},
})

var ofMySQL = mySQLKind(kind{
	printed: "mysql", patient: patient, column: "BIGINT NOT NULL", some: many(200, "snowkey_next()"),
	drop: printed("mysql", "").Drop, all: []string{"DROP TABLE snowkey_next_counter, snowkey_next_history"},
	programs: [2]string{"mysqldump", "mysql"},
})

// printed returns what is printed for a dialect, if the names are the default ones.
func printed(dialect, role string) sqlgen.Statements {
	s, _ := sqlgen.Writer{}.Statements(dialect, role)
	return s
}

// trigger returns the statement of docs/sql-default.md for a table of MySQL or MariaDB.
func trigger(table string) string {
	return "CREATE TRIGGER " + table + "_id BEFORE INSERT ON `" + table + "` FOR EACH ROW\nSET NEW.id = IF(COALESCE(NEW.id, 0) = 0, snowkey_next(), NEW.id)"
}

// mySQLKind adds what MySQL and MariaDB have in common.
func mySQLKind(k kind) kind {
	k.dialect, k.store = "mysql", sqlstore.MySQL
	k.drops = map[string][]string{
		"the function":           k.drop,
		"all":                    slices.Concat(k.drop, k.all),
		"the counter":            {"DROP TABLE snowkey_next_counter"},
		"the counter, truncated": {"TRUNCATE TABLE snowkey_next_counter"},
		"the counter, lowered":   {"ALTER TABLE snowkey_next_counter AUTO_INCREMENT = 1000000"},
		"the history":            {"DROP TABLE snowkey_next_history"},
	}
	if k.mariaDB {
		k.drops["the sequence"] = []string{"DROP SEQUENCE snowkey_next_sessions"}
	}
	return k
}

func kindOf(db dbtest.DB) kind {
	switch {
	case db.Dialect == "postgres":
		return ofPostgres
	case db.MariaDB:
		return ofMariaDB
	}
	return ofMySQL
}

// eachKind runs a test on each server of the run that can have the functions.
func eachKind(t *testing.T, test func(t *testing.T, db dbtest.DB, k kind)) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		test(t, db.Since(t, 15), kindOf(db))
	})
}

// mySQLServer returns a database of the run's server, which is MySQL or MariaDB.
func mySQLServer(t *testing.T) (dbtest.DB, kind) {
	t.Helper()
	db := dbtest.MySQL(t)
	return db, kindOf(db)
}

// table returns the statements that create the table made, whose keys are made in SQL.
func (k kind) table() []string {
	statements := []string{"CREATE TABLE made (id " + k.column + " PRIMARY KEY, v INT)"}
	if k.dialect == "mysql" {
		statements = append(statements, trigger("made"))
	}
	return statements
}

// dump returns the commands that dump a database and restore it.
func (k kind) dump(t *testing.T, db dbtest.DB) (dump, restore []string) {
	t.Helper()
	if db.Dialect == "postgres" {
		to := "--dbname=" + db.DSN
		return []string{k.programs[0], "--clean", "--if-exists", to}, []string{k.programs[1], "--quiet", "--set=ON_ERROR_STOP=1", to}
	}
	cfg := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
	host, port, _ := strings.Cut(cfg.Addr, ":")
	args := []string{"--no-defaults", "--host=" + host, "--port=" + port, "--user=" + cfg.User, "--password=" + cfg.Passwd, cfg.DBName}
	return slices.Concat(k.programs[:1], args, []string{"--routines", "--triggers"}), slices.Concat(k.programs[1:], args)
}

// open returns a database of this kind.
func (k kind) open(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.Open(t, k.dialect)
	if db.MariaDB != k.mariaDB {
		t.Skipf("%s is not of the kind of this test", db.Version)
	}
	return db.Since(t, 15) // which has unlogged sequences
}

// on returns the statements that install w, each old text of edits replaced by the next one.
func (k kind) on(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements := dbtest.Must(w.Statements(k.printed, ""))(t).Create
	for i := 0; i < len(edits); i += 2 {
		found := false
		for k, s := range statements {
			found = found || strings.Contains(s, edits[i])
			statements[k] = strings.ReplaceAll(s, edits[i], edits[i+1])
		}
		if !found {
			t.Fatalf("the SQL does not have %s", edits[i])
		}
	}
	return statements
}

// many is a query with n rows, in which i counts from 1.
func many(n int, columns string) string {
	return fmt.Sprintf(series+"SELECT %s FROM n", n, columns)
}
