package sqlstore_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

func exec(t *testing.T, conn *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestStoreWithoutADatabase(t *testing.T) {
	for name, store := range map[string]*sqlstore.Store{"zero": {}, "nil": nil, "of no DB": sqlstore.Postgres(nil)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			_, probed := store.Probe(ctx, lease.Query{})
			_, _, claimed := store.Claim(ctx, lease.Claim{})
			_, _, renewed := store.Renew(ctx, lease.Renewal{})
			_, released := store.Release(ctx, lease.Terms{}, lease.Row{}, 0)
			_, listed := store.Rows(ctx, terms, 0, 0)
			_, created := store.CreateNamespace(ctx, terms, 0)
			_, _, layouts := store.Layouts(ctx, "")
			_, namespaces := store.Namespaces(ctx)
			for i, err := range []error{
				store.Migrate(ctx), layouts, created, probed, store.Fence(ctx, terms, ""),
				store.AddRows(ctx, terms, 0, 0), claimed, renewed, released, listed, namespaces,
			} {
				if err == nil || !strings.HasPrefix(err.Error(), "sqlstore: there is no database") {
					t.Errorf("%s store, method %d: %v", name, i, err)
				}
			}
			// These need to know the dialect, but don't need a database.
			statements, grants := store.DDL(), store.Grants("app")
			_, err := store.WithTable("leases")
			if has := name == "of no DB"; has != (statements != nil) || has != (grants != nil) || has != (err == nil) {
				t.Errorf("%s store: %q, %q, %v", name, statements, grants, err)
			}
		})
	}
	if _, err := sqlstore.Postgres(new(sql.DB)).WithTable("a b"); err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("the name of a table: %v", err)
	}
}

// TestFingerprint compares the fingerprint with what the server says about itself.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		store := open(t, db, conn, "lease")
		claimed(t, store)
		var query string
		switch {
		case db.Dialect == "postgres":
			// There was no promotion, so no checkpoint could have followed one.
			query = `SELECT system_identifier || '/' || lpad(to_hex(timeline_id), 8, '0') || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || 'lease_ns'::regclass::oid || '/' || 'lease'::regclass::oid
				|| '/' || (SELECT relfilenode FROM pg_class WHERE oid = 'lease'::regclass) || '/' || (SELECT xmin FROM lease_ns)
				FROM pg_control_system(), pg_control_checkpoint()`
		case db.MariaDB:
			query = "SELECT CONCAT(@@hostname, ':', @@port, ':', @@server_id, '/', 2 * SUM(UNIX_TIMESTAMP(create_time))) FROM information_schema.tables WHERE table_schema = DATABASE()"
		case db.Dialect == "mysql":
			query = "SELECT CONCAT(@@server_uuid, '/', 2 * SUM(UNIX_TIMESTAMP(create_time))) FROM information_schema.tables WHERE table_schema = DATABASE()"
		}
		var want string
		if err := conn.QueryRow(query).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if p := probe(t, store); p.Fingerprint != want || p.Current != want {
			t.Errorf("the fingerprint is %q and %q, want %q", p.Fingerprint, p.Current, want)
		}
	})
}

// TestVolatile covers the settings that allow a database to lose commits. The others need
// a server of their own.
func TestVolatile(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		db := dbtest.Postgres(t)
		conn := db.Connect(t)
		claimed(t, open(t, db, conn, "lease"))
		checkVolatile(t, open(t, db, conn, "lease"), false)
		exec(t, conn, "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC")
		role := roleWith(t, conn, "SELECT")
		checkVolatile(t, open(t, db, as(t, db, role), "lease"), true)
	})
}

func checkVolatile(t *testing.T, store lease.Store, want bool) {
	t.Helper()
	if p := probe(t, store); p.Volatile != want {
		t.Errorf("volatile: %v, want %v", p.Volatile, want)
	}
}

// roleWith creates a role that is only granted certain privileges on the tables called
// lease.
func roleWith(t *testing.T, conn *sql.DB, grants ...string) string {
	t.Helper()
	var database string
	if err := conn.QueryRow("SELECT current_database()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	role := strings.Replace(database, "snowkey_", "role_", 1)
	exec(t, conn, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'")
	t.Cleanup(func() { exec(t, conn, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	for _, grant := range grants {
		exec(t, conn, fmt.Sprintf("GRANT %s ON lease, lease_ns TO %s", grant, role))
	}
	return role
}

// as connects to Postgres using another role.
func as(t *testing.T, db dbtest.DB, role string) *sql.DB {
	t.Helper()
	dsn, err := url.Parse(db.DSN)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	dsn.User = url.UserPassword(role, "x")
	db.DSN = dsn.String()
	return db.Connect(t)
}

// If a role has no more than the privileges of Grants, on tables created by the owner
// with the statements of DDL, it must be able to do everything that a store does. This
// is also where the store is tested with the default settings of a connection.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, db dbtest.DB, owner, conn *sql.DB, role string) {
		t.Helper()
		tables := 0
		leasetest.Run(t, func(t *testing.T) lease.Store {
			tables++
			s := open(t, db, conn, fmt.Sprint("lease", tables))
			exec(t, owner, s.DDL()...)
			exec(t, owner, s.Grants(role)...)
			s.db = owner // used to edit rows
			return s
		})
		if _, err := conn.Exec("DELETE FROM lease1"); err == nil {
			t.Error("the role can delete rows, so that this test shows nothing")
		}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.Postgres(t)
		owner := db.Connect(t)
		exec(t, owner, "CREATE TABLE lease (i int)", "CREATE TABLE lease_ns (i int)")
		role := roleWith(t, owner)
		exec(t, owner, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		conn := as(t, db, role)
		conn.SetMaxIdleConns(64)
		check(t, db, owner, conn, role)
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		db := dbtest.MySQL(t)
		owner := db.Connect(t)
		cfg, err := mysql.ParseDSN(db.DSN)
		if err != nil {
			t.Fatal("the DSN cannot be read")
		}
		role := strings.Replace(cfg.DBName, "snowkey_", "it's_", 1)
		exec(t, owner, "CREATE USER "+userOf(role)+" IDENTIFIED BY 'x'")
		t.Cleanup(func() { exec(t, owner, "DROP USER "+userOf(role)) })
		cfg.User, cfg.Passwd = role, "x"
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn := sql.OpenDB(connector)
		t.Cleanup(func() { conn.Close() })
		conn.SetMaxIdleConns(64)
		check(t, db, owner, conn, role+"@%")
	})
}

func userOf(role string) string { return "'" + strings.ReplaceAll(role, "'", "''") + "'@'%'" }

// TestCommitThatFails makes the commit fail even though the row has already been
// returned.
func TestCommitThatFails(t *testing.T) {
	t.Parallel()
	for dialect, fail := range map[string][]string{
		"postgres": {
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused at commit'; END $$`,
			`CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON lease DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`,
		},
	} {
		t.Run(dialect, func(t *testing.T) {
			db := dbtest.Open(t, dialect)
			conn := db.Connect(t)
			store := open(t, db, conn, "lease")
			held := claimed(t, store)
			exec(t, conn, fail...)
			if row, ok, err := store.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "second"}); ok || err == nil {
				t.Errorf("a renewal that was not committed: %+v, %v, %v", row, ok, err)
			}
			if ok, err := store.Release(t.Context(), terms, held, 0); ok || err == nil {
				t.Errorf("a release that was not committed: %v, %v", ok, err)
			}
		})
	}
}
