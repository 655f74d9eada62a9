package sqlgen

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// In these tests, the SQL is executed by a role or a user that has no more privileges than
// docs/sql-default.md says.

const (
	password  = "a-Password-1"
	ofControl = "pg_control_system()"
)

// roleOf creates a role of PostgreSQL that can log in, and returns its name and the
// database as the role.
func roleOf(t *testing.T, db dbtest.DB, admin *sql.DB, grants ...string) (name string, as dbtest.DB) {
	t.Helper()
	name = fmt.Sprintf("sqlowner_%d", time.Now().UnixNano())
	dbtest.Exec(t, admin, "CREATE ROLE "+name+" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '"+password+"'")
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY " + name, "DROP ROLE " + name} {
			dbtest.Must(admin.ExecContext(context.Background(), statement))(t)
		}
	})
	for _, grant := range grants {
		dbtest.Exec(t, admin, "GRANT "+grant+" TO "+name)
	}
	return name, db.With("user=" + name + "&password=" + password)
}

// isDenied reports whether a PostgreSQL role has no privilege for what a statement needs.
func isDenied(err error, what string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "42501" && strings.Contains(e.Message, what)
}

// TestOwner executes the SQL as a role that has nothing but CREATE on the schema. Another
// role that has nothing but what --role grants then inserts.
func TestOwner(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		grant  string
		tables bool   // whether another role owns the lease tables, and lets this one use them
		denied string // what the error says
	}{
		"creates the lease tables":      {grant: "CREATE ON SCHEMA public"},
		"creates the schema":            {grant: "CREATE ON DATABASE"},
		"without CREATE":                {denied: "permission denied for schema public"},
		"does not own the lease tables": {grant: "CREATE ON SCHEMA public", tables: true, denied: "must be owner of table snowkey_lease"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := ofPostgres.open(t)
			admin := db.Connect(t)
			w := sqlgen.Writer{}
			role, as := roleOf(t, db, admin)
			if strings.HasSuffix(tt.grant, "DATABASE") {
				w.Schema = "app"
				dbtest.Exec(t, admin, "DO $$BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO "+role+"', current_database()); END$$")
			} else if tt.grant != "" {
				dbtest.Exec(t, admin, "GRANT "+tt.grant+" TO "+role)
			}
			if tt.tables {
				dbtest.Exec(t, admin, ofPostgres.on(t, w)[:2]...)
				dbtest.Exec(t, admin, "GRANT ALL ON snowkey_lease, snowkey_lease_ns TO "+role)
			}
			owner := as.Connect(t)
			if count(t, owner, "has_function_privilege('"+ofControl+"', 'EXECUTE')::int") != 1 {
				t.Errorf("not every role may execute %s", ofControl)
			}
			if w.Schema != "" {
				dbtest.Exec(t, owner, "CREATE SCHEMA app")
			}
			err := refused(t, owner, ofPostgres.on(t, w))
			if tt.denied != "" {
				if !isDenied(err, tt.denied) {
					t.Errorf("got %v, want that %s is denied", err, tt.denied)
				}
				return
			}
			dbtest.NoError(t, err)
			install(t, owner, w)
			schema := "public"
			if w.Schema != "" {
				schema = w.Schema
			}
			rows := schema + ".rows"
			dbtest.Exec(t, owner, "CREATE TABLE "+rows+" (id bigint PRIMARY KEY DEFAULT "+schema+".snowkey_next(), v text)")
			name, asUser := roleOf(t, db, admin)
			user := asUser.Connect(t)
			denied := func(statement string) {
				t.Helper()
				if _, err := user.ExecContext(t.Context(), statement); !isDenied(err, "") {
					t.Errorf("%s: %v", statement, err)
				}
			}
			dbtest.Exec(t, owner, "GRANT USAGE ON SCHEMA "+schema+" TO "+name, "GRANT INSERT ON "+rows+" TO "+name)
			denied("INSERT INTO " + rows + " (v) VALUES ('a')")
			dbtest.Exec(t, owner, dbtest.Must(w.Statements("postgres", name))(t).Grant...)
			for _, forbidden := range []string{
				"nextval('.snowkey_next_current')", "setval('.snowkey_next_counter', 1)", ".snowkey_next_enter(1, NULL)", ".snowkey_next_enter(NULL)", ".snowkey_next_ready()", "* FROM .snowkey_lease",
			} {
				denied("SELECT " + strings.Replace(forbidden, ".", schema+".", 1))
			}
			for _, db := range []*sql.DB{owner, user} {
				dbtest.Exec(t, db, "INSERT INTO "+rows+" (v) SELECT 'a' FROM generate_series(1, 10)",
					"INSERT INTO "+rows+" SELECT id, v FROM ROWS FROM ("+schema+".snowkey_next(2), unnest(ARRAY['c', 'd'])) r (id, v)")
			}
			if all, different := countIDs(t, owner, rows); all != 24 || different != 24 {
				t.Errorf("%d rows have %d different ids, want 24", all, different)
			}
			dbtest.Exec(t, owner, "ALTER TABLE "+rows+" ALTER COLUMN id DROP DEFAULT")
			dbtest.Exec(t, owner, dbtest.Must(w.Statements("postgres", ""))(t).Drop...)
		})
	}
}

// TestControlSystem executes the SQL as a role that may not execute pg_control_system(). A
// migration, which is one transaction, changes nothing. Statements that are executed one
// by one leave the lease tables, which are empty.
func TestControlSystem(t *testing.T) {
	t.Parallel()
	db := ofPostgres.open(t)
	admin := db.Connect(t)
	dbtest.Exec(t, admin, "REVOKE EXECUTE ON FUNCTION "+ofControl+" FROM PUBLIC") // in this database only
	role, as := roleOf(t, db, admin, "CREATE ON SCHEMA public")
	owner := as.Connect(t)
	check := func(err error, want ...string) {
		t.Helper()
		if !isDenied(err, "permission denied for function pg_control_system") {
			t.Errorf("got %v", err)
		}
		left := column[string](t, admin, "SELECT relname::text FROM pg_class WHERE relname LIKE 'snowkey%' AND relkind IN ('r', 'S') "+
			"UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE 'snowkey%' ORDER BY 1")
		if fmt.Sprint(left) != fmt.Sprint(want) {
			t.Errorf("%v are left, want %v", left, want)
		}
	}
	tx := dbtest.Must(owner.BeginTx(t.Context(), nil))(t)
	err := refused(t, tx, ofPostgres.on(t, sqlgen.Writer{}))
	dbtest.NoError(t, tx.Rollback())
	check(err)

	check(refused(t, owner, ofPostgres.on(t, sqlgen.Writer{})), "snowkey_lease", "snowkey_lease_ns")
	if n := count(t, admin, "(SELECT count(*) FROM snowkey_lease) + (SELECT count(*) FROM snowkey_lease_ns)"); n > 0 {
		t.Errorf("%d rows are left in the lease tables", n)
	}

	// If the role loses the privilege later, sessions that check the row fail.
	dbtest.Exec(t, admin, "GRANT EXECUTE ON FUNCTION "+ofControl+" TO "+role)
	install(t, owner, sqlgen.Writer{})
	query(t, owner, "SELECT snowkey_next()")
	dbtest.Exec(t, admin, "REVOKE EXECUTE ON FUNCTION "+ofControl+" FROM "+role)
	owner.SetMaxIdleConns(0)
	if _, err := owner.ExecContext(t.Context(), "SELECT snowkey_next()"); !isDenied(err, "permission denied for function pg_control_system") {
		t.Errorf("in a new session: %v", err)
	}
}

// userOf creates a user of MySQL or MariaDB, and returns its name and the database as the
// user.
func userOf(t *testing.T, db dbtest.DB, admin *sql.DB, grants ...string) (name string, as *sql.DB) {
	t.Helper()
	cfg := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
	name = fmt.Sprintf("u%d", time.Now().UnixNano()%1e15)
	dbtest.Exec(t, admin, "CREATE USER '"+name+"'@'%' IDENTIFIED BY '"+password+"'")
	t.Cleanup(func() {
		dbtest.Must(admin.ExecContext(context.Background(), "DROP USER '"+name+"'@'%'"))(t)
	})
	grant(t, db, admin, name, grants...)
	cfg.User, cfg.Passwd = name, password
	db.DSN = cfg.FormatDSN()
	return name, db.Connect(t)
}

// grant gives privileges to a user. DATABASE stands for all tables of the database.
func grant(t *testing.T, db dbtest.DB, admin *sql.DB, user string, privileges ...string) {
	t.Helper()
	cfg := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
	for _, p := range privileges {
		dbtest.Exec(t, admin, "GRANT "+strings.ReplaceAll(p, "DATABASE", "`"+cfg.DBName+"`.*")+" TO '"+user+"'@'%'")
	}
}

// TestMySQLOwner executes the SQL as a user of MySQL or MariaDB that has only the privileges
// of the database.
func TestMySQLOwner(t *testing.T) {
	t.Parallel()
	db, k := mySQLServer(t)
	admin := db.Connect(t)
	if count(t, admin, "@@log_bin") == 1 {
		t.Skip("the server has a binary log")
	}
	asOwner(t, db, admin, k, "ALL ON DATABASE")
}

// asOwner executes the SQL as a user with the given privileges. A user that has only
// INSERT then fills rows.
func asOwner(t *testing.T, db dbtest.DB, admin *sql.DB, k kind, grants ...string) {
	t.Helper()
	name, owner := userOf(t, db, admin, grants...)
	dbtest.Exec(t, owner, k.on(t, sqlgen.Writer{})...)
	dbtest.Exec(t, owner, k.on(t, sqlgen.Writer{})...)
	dbtest.Exec(t, owner, "CREATE TABLE `rows` (id "+k.column+" PRIMARY KEY, v INT)", trigger("rows"))
	caller, user := userOf(t, db, admin, "INSERT ON `rows`")
	for _, db := range []*sql.DB{owner, user} {
		dbtest.Exec(t, db, "INSERT INTO `rows` (v) VALUES (1), (2)", "INSERT INTO `rows` VALUES (0, 3), (NULL, 4)")
	}
	if n := count(t, owner, "count(DISTINCT id) FROM `rows` WHERE id > 1000000"); n != 8 {
		t.Errorf("%d ids, want 8", n)
	}
	denied := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if _, err := user.Exec(statement); err == nil || !strings.Contains(err.Error(), "denied") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	denied("SELECT snowkey_next()")
	toCall := printed(k.printed, caller+map[bool]string{false: "@%"}[db.MariaDB]).Grant
	if err := refused(t, owner, toCall); err == nil || !strings.Contains(err.Error(), "grant command denied") {
		t.Errorf("without GRANT OPTION: %v", err)
	}
	grant(t, db, admin, name, "GRANT OPTION ON DATABASE")
	owner.SetMaxIdleConns(0) // a session keeps the privileges that it had
	dbtest.Exec(t, owner, toCall...)
	query(t, user, "SELECT snowkey_next()")
	denied("INSERT INTO snowkey_next_counter (s) VALUES (1)", "SELECT * FROM snowkey_lease", "SELECT * FROM snowkey_next_history")
	if db.MariaDB {
		denied("SELECT NEXTVAL(snowkey_next_sessions)")
	}
}
