package versions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// refused fails the test unless each call is refused because of the version.
func refused(t *testing.T, version string, calls map[string]func(ctx context.Context) error) {
	t.Helper()
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := call(ctx)
		if e, ok := errors.AsType[*lease.VersionError](err); !ok || e.Found != version || ctx.Err() != nil ||
			!strings.Contains(err.Error(), "use a release of Snowkey with version "+version) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// leaseCalls returns the calls that use a store of leases.
func leaseCalls(open func() lease.Store) map[string]func(ctx context.Context) error {
	calls := make(map[string]func(ctx context.Context) error)
	for _, namespace := range []string{"", "another"} {
		for _, skip := range []bool{false, true} {
			cfg := config
			cfg.Namespace, cfg.SkipMigrate = namespace, skip
			calls[fmt.Sprintf("Open %q, SkipMigrate %v", namespace, skip)] = func(ctx context.Context) error {
				pool, err := snowkey.Open(ctx, open(), cfg)
				if err == nil {
					pool.Close(ctx)
				}
				return err
			}
		}
	}
	calls["Fence"] = func(ctx context.Context) error { return snowkey.Fence(ctx, open(), snowkey.Config{}) }
	calls["Doctor"] = func(ctx context.Context) error {
		_, err := snowkey.Doctor(ctx, open(), snowkey.Config{})
		return err
	}
	return calls
}

// setVersion makes tables those of another version, as a migration would.
func setVersion(t *testing.T, conn *sql.DB, version string, tables ...string) {
	t.Helper()
	for _, table := range tables {
		for _, s := range []string{"ALTER TABLE %s ALTER COLUMN protocol SET DEFAULT " + version, "UPDATE %s SET protocol = " + version} {
			dbtest.Must(conn.Exec(fmt.Sprintf(s, table)))(t)
		}
	}
}

// Tables of another version are refused, and nothing is written to them. When they are
// dropped as the page says, ids continue above all that was granted.
func TestTablesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		cfg := config
		cfg.SkipMigrate = false
		above(t, storeOf(db.Dialect, conn), cfg, 0)
		segments := func() *segmentstore.Store {
			if db.Dialect == "postgres" {
				return segmentstore.Postgres(conn)
			}
			return segmentstore.MySQL(conn)
		}
		fetch := func(ctx context.Context, name string) error {
			_, err := segments().Fetch(ctx, segment.Fetch{Name: name, Min: 1, Limit: 1000, Span: 10})
			return err
		}
		dbtest.NoError(t, segments().Migrate(t.Context()))
		dbtest.NoError(t, fetch(t.Context(), "orders"))
		content := func() (all []string) {
			for _, query := range []string{
				"SELECT * FROM snowkey_lease ORDER BY namespace, worker", "SELECT * FROM snowkey_lease_ns ORDER BY namespace, position",
				"SELECT * FROM snowkey_segment ORDER BY name",
			} {
				all = append(all, dbtest.Rows(t, conn, query)...)
			}
			return all
		}
		for _, version := range []string{"1", "3"} {
			setVersion(t, conn, version, "snowkey_lease", "snowkey_lease_ns", "snowkey_segment")
			before := content()
			refused(t, version, leaseCalls(func() lease.Store { return storeOf(db.Dialect, conn) }))
			refused(t, version, map[string]func(ctx context.Context) error{
				"Migrate of segments": func(ctx context.Context) error { return segments().Migrate(ctx) },
				"Fetch":               func(ctx context.Context) error { return fetch(ctx, "orders") },
				"Fetch of another":    func(ctx context.Context) error { return fetch(ctx, "another") },
			})
			if after := content(); len(before) < 4 || !slices.Equal(before, after) {
				t.Errorf("the tables of version %s changed from %q to %q", version, before, after)
			}
		}
		// Columns of another version are found as well.
		dbtest.Must(conn.Exec("ALTER TABLE snowkey_lease RENAME COLUMN revision TO renamed"))(t)
		setVersion(t, conn, "2", "snowkey_lease", "snowkey_lease_ns")
		_, err := snowkey.Open(t.Context(), storeOf(db.Dialect, conn), config)
		if _, ok := errors.AsType[*lease.PermanentError](err); !ok || !strings.Contains(err.Error(), "the tables are of another version of Snowkey") {
			t.Errorf("with another column: %v", err)
		}
		bound := at(time.Now().Add(10 * time.Second)) // another release grants no more than Window + MaxClockSkew
		dropTables(t, conn)
		cfg.MaxClockSkew = 0 // the default
		above(t, storeOf(db.Dialect, conn), cfg, bound)
	})
}

// dropTables drops the tables as the page says.
func dropTables(t *testing.T, conn *sql.DB) {
	t.Helper()
	steps := regexp.MustCompile("(?s)```sql\n *(DROP TABLE .*?)```").FindStringSubmatch(read(t, root+"/docs/operations.md"))
	if steps == nil {
		t.Fatal("docs/operations.md does not say how to drop the tables")
	}
	for s := range strings.SplitSeq(strings.TrimSpace(steps[1]), ";") {
		if s = strings.TrimSpace(s); s != "" {
			dbtest.Must(conn.Exec(s))(t)
		}
	}
}

// While a process is running, another version takes over its tables. From then on, the
// process must not write anything, and must say why.
func TestVersionChangesUnderALease(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		for _, tables := range [][]string{{"snowkey_lease_ns"}, {"snowkey_lease"}, {"snowkey_lease", "snowkey_lease_ns"}} {
			t.Run(strings.Join(tables, " and "), func(t *testing.T) {
				t.Parallel()
				conn := dbtest.Open(t, db.Dialect).Connect(t)
				lost := make(chan error, 1)
				cfg := config
				cfg.SkipMigrate, cfg.Window, cfg.OnLost = false, time.Second, func(e *lease.LostError) { lost <- e }
				pool := dbtest.Must(snowkey.Open(t.Context(), storeOf(db.Dialect, conn), cfg))(t)
				defer pool.Close(context.Background())
				for _, table := range tables {
					dbtest.Must(conn.Exec("UPDATE " + table + " SET protocol = 3"))(t)
				}
				content := func() []string {
					return append(dbtest.Rows(t, conn, "SELECT * FROM snowkey_lease ORDER BY worker"), dbtest.Rows(t, conn, "SELECT * FROM snowkey_lease_ns")...)
				}
				before := content()
				if err := <-lost; !strings.Contains(err.Error(), "lost worker") || !strings.Contains(err.Error(), "migrated to another version") {
					t.Errorf("the process said: %v", err)
				}
				dbtest.Await(t, "the version as the reason why the process is not ready", func() bool {
					return strings.Contains(fmt.Sprint(pool.Health().Reason), "has protocol version 3")
				})
				if after := content(); !slices.Equal(before, after) {
					t.Errorf("it changed the tables:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
				}
			})
		}
	})
}
