package sqlstore_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// Open fails at once if a retry can't help, and says what to do. Neither the error nor the
// log has a password.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	postgres := func(conn *sql.DB) lease.Store { return sqlstore.Postgres(conn) }
	mysql := func(conn *sql.DB) lease.Store { return sqlstore.MySQL(conn) }
	sqlite := func(conn *sql.DB) lease.Store { return sqlstore.SQLite(conn) }
	closed := func(dialect string) func(t *testing.T) *sql.DB {
		return func(t *testing.T) *sql.DB {
			conn := dbtest.Open(t, dialect).Connect(t)
			conn.Close()
			return conn
		}
	}
	of := func(dialect string, statements ...string) func(t *testing.T) *sql.DB {
		return func(t *testing.T) *sql.DB {
			conn := dbtest.Open(t, dialect).Connect(t)
			dbtest.Exec(t, conn, statements...)
			return conn
		}
	}
	none := func(*testing.T) *sql.DB { return nil }
	nowhere := func(store *sqlstore.Store) lease.Store {
		store, _ = store.WithTable("nowhere.leases")
		return store
	}
	// as connects as a user without privileges, or another one, if user is not "".
	as := func(dialect, user, secret, database string) func(t *testing.T) *sql.DB {
		return func(t *testing.T) *sql.DB {
			db := dbtest.Open(t, dialect)
			return login(t, db, cmp.Or(user, newUser(t, db, db.Connect(t))), secret, database)
		}
	}
	noDatabase := func(t *testing.T) *sql.DB {
		db := dbtest.MySQL(t)
		db.DSN = strings.Replace(db.DSN, "/"+dbtest.Rows(t, db.Connect(t), "SELECT DATABASE()")[0], "/", 1)
		return db.Connect(t)
	}
	// A private server of Postgres accepts any password.
	unknownPassword := func(t *testing.T) *sql.DB {
		through, proxy := dbtest.Postgres(t).Through(t)
		conn := through.With("default_query_exec_mode=exec").Connect(t)
		proxy.Answer(func([]byte) ([]byte, bool) { return refusal("postgres", "28P01"), false })
		return conn
	}
	columns := "CREATE TABLE real (namespace varchar(100), layout varchar(100), worker bigint, token varchar(100), revision bigint, bound bigint, expires_at bigint, label varchar(100), protocol bigint DEFAULT 2)"
	view := "CREATE VIEW snowkey_lease AS SELECT * FROM real"
	for name, test := range map[string]struct {
		store func(*sql.DB) lease.Store
		conn  func(t *testing.T) *sql.DB
		want  string
	}{
		"Postgres for MySQL":      {postgres, of("mysql"), "sqlstore.MySQL"},
		"Postgres for SQLite":     {postgres, of("sqlite"), "sqlstore.SQLite"},
		"MySQL for Postgres":      {mysql, of("postgres"), "sqlstore.Postgres"},
		"MySQL for SQLite":        {mysql, of("sqlite"), "sqlstore.SQLite"},
		"no database of Postgres": {postgres, none, "no database"},
		"no database of MySQL":    {mysql, none, "no database"},
		"a closed *sql.DB":        {postgres, closed("postgres"), "open the *sql.DB again"},
		"a view of Postgres":      {postgres, of("postgres", columns, view), "is a view"},
		"a view of MySQL":         {mysql, of("mysql", strings.ReplaceAll(columns, "real", "`real`"), strings.ReplaceAll(view, "real", "`real`")), "is a view"},
		"a partitioned table":     {postgres, of("postgres", strings.Replace(columns, "real", "snowkey_lease", 1)+" PARTITION BY HASH (worker)"), "is a partitioned table"},
		"partitioned, with namespaces": {postgres, of("postgres", strings.Replace(columns, "real", "snowkey_lease", 1)+" PARTITION BY HASH (worker)",
			"CREATE TABLE snowkey_lease_ns (namespace text, position bigint, layout text, fingerprint text, fence bigint, protocol bigint DEFAULT 2)"), "is a partitioned table"},
		"no database of SQLite": {sqlite, none, "open *sql.DB"},
		"a temporary database": {sqlite, func(t *testing.T) *sql.DB {
			conn := dbtest.Must(sql.Open(dbtest.SQLite(t).Driver, ""))(t)
			t.Cleanup(func() { conn.Close() })
			return conn
		}, "filestore.Dir"},
		"a file that is not here": {sqlite, func(t *testing.T) *sql.DB {
			conn := dbtest.SQLite(t).Connect(t)
			if err := os.Remove(fileOf(t, conn)); err != nil {
				t.Skip(err)
			}
			return conn
		}, "filestore.Dir"},
		"a file in place of the folder": {sqlite, func(t *testing.T) *sql.DB {
			conn := dbtest.SQLite(t).Connect(t)
			dbtest.NoError(t, os.WriteFile(fileOf(t, conn)+"-snowkey", nil, 0o600))
			return conn
		}, "filestore.Dir"},
		"tables of an earlier version": {sqlite, of("sqlite", "CREATE TABLE snowkey_lease (worker INTEGER)"), "DROP TABLE snowkey_lease"},
		"SQLite for Postgres":          {sqlite, of("postgres"), "sqlstore.Postgres"},
		"SQLite for MySQL":             {sqlite, of("mysql"), "use the store of your database"},
		"no privileges on Postgres":    {postgres, as("postgres", "", password, ""), "permission denied; privileges"},
		"no database on Postgres":      {postgres, as("postgres", "", password, "nowhere"), "nowhere; database"},
		"no user on Postgres":          {postgres, as("postgres", "somebody", password, ""), "somebody; user"},
		"wrong password for Postgres":  {postgres, unknownPassword, "correct the user"},
		"no schema on Postgres":        {func(c *sql.DB) lease.Store { return nowhere(sqlstore.Postgres(c)) }, of("postgres"), "nowhere; schema"},
		"no privileges on MySQL":       {mysql, as("mysql", "", password, ""), "denied; privileges"},
		"no database on MySQL":         {mysql, as("mysql", "", password, "nowhere"), "nowhere; database"},
		"no selected database":         {mysql, noDatabase, "No database selected; database"},
		"wrong password for MySQL":     {mysql, as("mysql", "", "not "+password, ""), "denied; password"},
		"no schema on MySQL":           {func(c *sql.DB) lease.Store { return nowhere(sqlstore.MySQL(c)) }, of("mysql"), "nowhere; database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var log strings.Builder
			_, err := snowkey.Open(ctx, test.store(test.conn(t)), snowkey.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if permanent, ok := errors.AsType[*lease.PermanentError](err); !ok || permanent.Remedy == "" || ctx.Err() != nil {
				t.Fatal(err)
			}
			for want := range strings.SplitSeq(test.want, "; ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %q", err, want)
				}
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), password) || strings.Contains(log.String(), password) {
				t.Error("the password is in the error or in the log")
			}
		})
	}
}

// TestReadsEndTheirTransactions uses sessions in which a statement begins a transaction,
// and the reads take locks.
func TestReadsEndTheirTransactions(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	variable := map[bool]string{true: "tx_isolation", false: "transaction_isolation"}[db.MariaDB]
	db = db.With("autocommit=0&" + variable + "=%27SERIALIZABLE%27")
	for _, reserved := range []bool{false, true} {
		t.Run(fmt.Sprint("reserved ", reserved), func(t *testing.T) {
			conn := db.Connect(t)
			conn.SetMaxIdleConns(10)
			store := open(t, db, conn, fmt.Sprint("lease", reserved))
			if reserved {
				release, _ := store.Reserve()
				defer release()
			}
			free(t, store)
			reads := map[string]func() error{
				"probe":   func() error { _, err := store.Probe(t.Context(), lease.Query{Terms: terms, Max: 1023}); return err },
				"rows":    func() error { _, err := store.Rows(t.Context(), terms, 0, 1023); return err },
				"layouts": func() error { _, _, err := store.Layouts(t.Context(), "ns"); return err },
				"migrate": func() error { return store.Migrate(t.Context()) },
			}
			for name, read := range reads {
				if err := read(); err != nil {
					t.Fatal(name, err)
				}
				admin := db.Connect(t)
				if open := dbtest.Rows(t, admin, "SELECT trx_query FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()"); len(open) > 0 {
					t.Errorf("%s: %d transactions are open", name, len(open))
				}
				admin.Close()
			}
		})
	}
}

// TestReadOnlyForAWhile has connections that were opened while the database accepted only
// reads. They must not be used again.
func TestReadOnlyForAWhile(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	admin := db.Connect(t)
	held := claimed(t, open(t, db, admin, "lease"))
	readOnly := func(state string) {
		t.Helper()
		dbtest.Exec(t, admin, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = "+state+"', current_database()); END $$")
	}
	readOnly("on")
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1)
	store := open(t, db, conn, "lease")
	renewal := lease.Renewal{Terms: terms, Held: held, Token: "second", Wanted: 1 << 62}
	if _, _, err := store.Renew(t.Context(), renewal); err == nil {
		t.Fatal("renewed a lease of a read-only database")
	}
	readOnly("off")
	if _, ok, err := store.Renew(t.Context(), renewal); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// With SkipMigrate, the error must say what to do if the tables were dropped, and the pool
// must continue once they exist.
func TestTablesAreDroppedAndSkipMigrate(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		store := storeOf(db, conn)
		dbtest.NoError(t, store.Migrate(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		pool := dbtest.Must(snowkey.Open(ctx, store, snowkey.Config{Window: time.Second, MaxClockSkew: 200 * time.Millisecond, SkipMigrate: true, Logger: slog.New(slog.DiscardHandler)}))(t)
		defer pool.Close(context.Background())
		before := dbtest.Must(pool.Next(ctx))(t)
		dbtest.Exec(t, conn, "DROP TABLE snowkey_lease", "DROP TABLE snowkey_lease_ns")
		// Ids are issued until they reach the bound. Then a call waits, and its error has the reason.
		var err error
		for !errors.Is(err, lease.ErrNotMigrated) && ctx.Err() == nil {
			short, cancel := context.WithTimeout(ctx, time.Second)
			_, err = pool.Next(short)
			cancel()
		}
		if !errors.Is(err, lease.ErrNotMigrated) || !strings.Contains(err.Error(), "run the migration") {
			t.Errorf("got %v", err)
		}
		if _, err := conn.Exec("SELECT 1 FROM snowkey_lease"); err == nil {
			t.Error("the table was created all the same")
		}
		dbtest.NoError(t, store.Migrate(t.Context()))
		if id, err := pool.Next(ctx); err != nil || id <= before {
			t.Errorf("after the migration: %d after %d, %v", id, before, err)
		}
	})
}
