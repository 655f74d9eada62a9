package sqlstore_test

import (
	"cmp"
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

func TestStoreWithoutADatabase(t *testing.T) {
	store, ctx := sqlstore.Postgres(nil), t.Context()
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
			t.Errorf("method %d: %v", i, err)
		}
	}
	// These need to know the dialect, but don't need a database.
	statements, grants := store.DDL(), store.Grants("app")
	if _, err := store.WithTable("leases"); err != nil || statements == nil || grants == nil {
		t.Errorf("%q, %q, %v", statements, grants, err)
	}
	if _, err := store.WithTable("a b"); err == nil || !strings.Contains(err.Error(), `"a b"`) {
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
			query = `SELECT system_identifier || '/' || lpad(to_hex(timeline_id), 8, '0') || '/' || 'lease_ns'::regclass::oid || '/' || 'lease'::regclass::oid
				|| '/base/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || (SELECT relfilenode FROM pg_class WHERE oid = 'lease'::regclass) || '/' || (SELECT xmin FROM lease_ns)
				FROM pg_control_system(), pg_control_checkpoint()`
		case db.MariaDB:
			query = "SELECT CONCAT(@@hostname, ':', @@port, ':', @@server_id, '/', 2 * SUM(UNIX_TIMESTAMP(create_time))) FROM information_schema.tables WHERE table_schema = DATABASE()"
		case db.Dialect == "mysql":
			query = "SELECT CONCAT(@@server_uuid, '/', 2 * SUM(UNIX_TIMESTAMP(create_time))) FROM information_schema.tables WHERE table_schema = DATABASE()"
		}
		want := dbtest.Rows(t, conn, query)[0]
		if p := probe(t, store); p.Fingerprint != want || p.Current != want {
			t.Errorf("the fingerprint is %q and %q, want %q", p.Fingerprint, p.Current, want)
		}
	})
}

func checkVolatile(t *testing.T, store lease.Store, want bool) {
	t.Helper()
	if p := probe(t, store); p.Volatile != want {
		t.Errorf("volatile: %v, want %v", p.Volatile, want)
	}
}

const password = "correct-horse-battery-staple"

// newUser creates a user without privileges, and returns the name. On MySQL, it needs
// quotes.
func newUser(t *testing.T, db dbtest.DB, owner *sql.DB) (name string) {
	t.Helper()
	if db.Dialect == "postgres" {
		name = strings.Replace(dbtest.Rows(t, owner, "SELECT current_database()")[0], "snowkey_", "role_", 1)
		dbtest.Exec(t, owner, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		t.Cleanup(func() { dbtest.Exec(t, owner, "DROP OWNED BY "+name, "DROP ROLE "+name) })
		return name
	}
	name = strings.Replace(dbtest.Rows(t, owner, "SELECT DATABASE()")[0], "snowkey_", "it's_", 1)
	account := "'" + strings.ReplaceAll(name, "'", "''") + "'@'%'"
	dbtest.Exec(t, owner, "CREATE USER "+account+" IDENTIFIED BY '"+password+"'")
	t.Cleanup(func() { dbtest.Exec(t, owner, "DROP USER "+account) })
	return name
}

// login connects as a user, to a database of that name unless it is "".
func login(t *testing.T, db dbtest.DB, user, password, database string) *sql.DB {
	t.Helper()
	dsn := db.DSN
	if db.Dialect == "postgres" {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal("the DSN is no URL")
		}
		if u.User = url.UserPassword(user, password); database != "" {
			u.Path = "/" + database
		}
		dsn = u.String()
	} else {
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal("the DSN cannot be read")
		}
		cfg.User, cfg.Passwd, cfg.DBName = user, password, cmp.Or(database, cfg.DBName)
		dsn = cfg.FormatDSN()
	}
	conn := dbtest.Must(sql.Open(db.Driver, dsn))(t)
	t.Cleanup(func() { conn.Close() })
	conn.SetMaxIdleConns(64)
	return conn
}

// If a role has no more than the privileges of Grants, on tables created by the owner
// with the statements of DDL, it must be able to do everything that a store does. This
// is also where the store is tested with the default settings of a connection. For segments,
// the documentation lists the privileges.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		owner := db.Connect(t)
		user := newUser(t, db, owner)
		conn, account, column := login(t, db, user, password, ""), user, " (start, bound)"
		if db.Dialect == "mysql" {
			account, column = user+"@%", ""
		}
		tables := 0
		leasetest.Run(t, func(t *testing.T) lease.Store {
			tables++
			s := open(t, db, conn, fmt.Sprint("lease", tables))
			dbtest.Exec(t, owner, s.DDL()...)
			dbtest.Exec(t, owner, s.Grants(account)...)
			s.db = owner // used to edit rows
			return s
		})
		openSegments(t, db, owner, "segment")
		quoted := map[string]string{"postgres": user, "mysql": "'" + strings.ReplaceAll(user, "'", "''") + "'"}[db.Dialect]
		dbtest.Exec(t, owner, "GRANT SELECT, INSERT, UPDATE"+column+" ON segment TO "+quoted)
		store := openSegments(t, db, conn, "segment")
		for n := range int64(2) {
			fetches(t, store, 10, base+10*n)
		}
		for _, table := range []string{"lease1", "segment"} {
			if _, err := conn.Exec("DELETE FROM " + table); err == nil {
				t.Errorf("the role can delete rows of %s, so that this test shows nothing", table)
			}
		}
	})
}

// A role that can't see the position in the log can't tell whether commits were lost.
func TestVolatile(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	conn := db.Connect(t)
	store := open(t, db, conn, "lease")
	claimed(t, store)
	checkVolatile(t, store, false)
	user := newUser(t, db, conn)
	dbtest.Exec(t, conn, "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC", "GRANT SELECT ON lease, lease_ns TO "+user)
	checkVolatile(t, open(t, db, login(t, db, user, password, ""), "lease"), true)
}

// TestCommitThatFails makes the commit fail even though the row has already been
// returned.
func TestCommitThatFails(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	conn := db.Connect(t)
	store := open(t, db, conn, "lease")
	held := claimed(t, store)
	dbtest.Exec(t, conn, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused at commit'; END $$`,
		`CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON lease DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
	if row, ok, err := store.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "second"}); ok || err == nil {
		t.Errorf("a renewal that was not committed: %+v, %v, %v", row, ok, err)
	}
	if ok, err := store.Release(t.Context(), terms, held, 0); ok || err == nil {
		t.Errorf("a release that was not committed: %v, %v", ok, err)
	}
}
