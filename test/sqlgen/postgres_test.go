// Package sqlgen tests the SQL of package sqlgen on real servers.
package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// TestRefusedServers installs the functions on servers that claim to have no unlogged
// sequences, or to be Aurora. Nothing is left behind.
func TestRefusedServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setup string
		edits       []string
		message     string
	}{
		{"PostgreSQL 14", "", []string{"< 150000", "< 990000"}, "has no unlogged sequences"},
		{"Amazon Aurora", "CREATE FUNCTION aurora_version() RETURNS text LANGUAGE sql AS $$SELECT '15.4.1'$$", nil, "Amazon Aurora"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := ofPostgres.open(t).Connect(t)
			if tt.setup != "" {
				dbtest.Exec(t, db, tt.setup)
			}
			err := refused(t, db, ofPostgres.on(t, sqlgen.Writer{}, tt.edits...))
			if err == nil || !strings.Contains(err.Error(), tt.message) || !strings.Contains(err.Error(), "0A000") {
				t.Error(err)
			}
			if left := count(t, db, "count(*) FROM pg_class WHERE relname LIKE 'snowkey%'"); left > 0 {
				t.Errorf("%d tables and sequences are left", left)
			}
		})
	}
}

func install(t *testing.T, db *sql.DB, w sqlgen.Writer) {
	t.Helper()
	dbtest.Exec(t, db, ofPostgres.on(t, w)...)
}

// requireAbove checks that some ids are above all earlier ones.
func requireAbove(t *testing.T, ids, earlier []int64) {
	t.Helper()
	if least, last := slices.Min(ids), slices.Max(earlier); least <= last {
		t.Errorf("%d was made after %d", least, last)
	}
}

func query(t *testing.T, db queryer, text string) (ids []int64) {
	t.Helper()
	return column[int64](t, db, text)
}

type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// column returns the values of the column that a query has.
func column[T any](t *testing.T, db queryer, text string) (values []T) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer rows.Close()
	for rows.Next() {
		var value T
		dbtest.NoError(t, rows.Scan(&value))
		values = append(values, value)
	}
	dbtest.NoError(t, rows.Err())
	return values
}

func count(t *testing.T, db *sql.DB, what string) int64 {
	t.Helper()
	return query(t, db, "SELECT "+what)[0]
}

// countIDs counts the rows of a table and their different ids, in one statement, because
// the server may still execute one that was cancelled.
func countIDs(t *testing.T, db *sql.DB, table string) (all, different int64) {
	t.Helper()
	dbtest.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT id) FROM "+table).Scan(&all, &different))
	return all, different
}

// layouts are the presets that SQL can make.
func layouts(t *testing.T) []idgen.Layout {
	t.Helper()
	epoch := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	list := []idgen.Layout{
		dbtest.Must(idgen.NewLayout(epoch, time.Millisecond, idgen.Time(55), idgen.Worker(3), idgen.Rollback(1), idgen.Sequence(3), idgen.Fixed("end", 1, 1)))(t),
	}
	for name, layout := range idgen.Presets() {
		switch name {
		case "mastodon": // has no worker
			continue
		case "baidu": // has ended
			layout = dbtest.Must(layout.WithEpoch(epoch))(t)
		case "twitter":
			layout = dbtest.Must(layout.WithFixed("datacenter", 21))(t)
		}
		list = append(list, layout)
	}
	return list
}

// inLayout checks ids that were made since before with worker number 5.
func inLayout(t *testing.T, layout idgen.Layout, ids []int64, before time.Time) {
	t.Helper()
	last := int64(0)
	for _, id := range ids {
		p := layout.Decode(id)
		if want, err := layout.Compose(idgen.Parts{Time: p.Time, Worker: 5, Sequence: p.Sequence}); err != nil || id != want {
			t.Errorf("%d is %+v, want the id %d: %v", id, p, want, err)
		}
		if ahead := p.Time.Sub(before); ahead < -50*time.Millisecond-2*layout.Unit() || ahead > 30*time.Second {
			t.Errorf("%d is %v ahead", id, ahead)
		}
		if id <= last {
			t.Errorf("%d follows %d", id, last)
		}
		last = id
	}
}

// TestLayouts parses ids of every preset that SQL can make.
func TestLayouts(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{ofPostgres, ofMariaDB} {
		t.Run(k.programs[1], func(t *testing.T) {
			db, some, n := k.open(t).Connect(t), "SELECT next() UNION ALL SELECT next(9) UNION ALL SELECT next()", 11
			if k.mariaDB {
				some, n = "SELECT next() FROM seq_1_to_1000", 1000
			}
			for i, layout := range layouts(t) {
				t.Run(layout.String(), func(t *testing.T) {
					t.Parallel()
					dbtest.Exec(t, db, k.on(t, sqlgen.Writer{Layout: layout, Namespace: fmt.Sprint("n", i), Name: fmt.Sprint("next", i), Worker: 5, MaxClockSkew: 50 * time.Millisecond})...)
					before := time.Now()
					ids := query(t, session(t, db), strings.ReplaceAll(some, "next", fmt.Sprint("next", i)))
					inLayout(t, layout, ids, before)
					if len(ids) != n {
						t.Errorf("%d ids, want %d", len(ids), n)
					}
				})
			}
		})
	}
}

// refused executes statements up to the first error.
func refused(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements []string) error {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			return err
		}
	}
	return nil
}

// TestFence raises the fence, as an operator does after a restore that can't be detected.
// The next session begins above it, though the counter was below.
func TestFence(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, server dbtest.DB, k kind) {
		db, cfg := server.Connect(t), snowkey.Config{MaxWorker: 9}
		dbtest.Exec(t, db, k.on(t, sqlgen.Writer{})...)
		pool := dbtest.Must(snowkey.Open(t.Context(), k.store(db), cfg))(t)
		pool.Close(t.Context())
		query(t, db, "SELECT snowkey_next()")
		if server.Dialect == "mysql" && !k.mariaDB {
			time.Sleep(1500 * time.Millisecond) // then, the counter is not ahead any more
		}
		dbtest.NoError(t, snowkey.Fence(t.Context(), k.store(db), cfg))
		fence := query(t, db, "SELECT fence FROM snowkey_lease_ns")[0]
		db.SetMaxIdleConns(0) // so that the next query has a new session
		id := query(t, db, "SELECT snowkey_next()")[0]
		if counter := id>>22<<12 | id&4095; counter < fence {
			t.Errorf("the counter of %d is %d, and the fence %d", id, counter, fence)
		}
		// Without its row, a new session makes no ids.
		dbtest.Exec(t, db, "DELETE FROM snowkey_lease WHERE worker = 1023")
		if _, err := db.Exec("SELECT snowkey_next()"); err == nil || !strings.Contains(err.Error(), "is not reserved for SQL") {
			t.Errorf("without the row: %v", err)
		}
	})
}

// pausing makes sessions pause while they enter a tick, after they have chosen it.
var pausing = []string{enters, "PERFORM pg_sleep(0.002);\n" + enters}

// With fewer tabs, the counter is raised.
const enters = "\t\t\t\t\tPERFORM setval(" + `'"public"."snowkey_next_counter"'::pg_catalog.regclass, last);`

// TestLock has sessions pause while they enter a tick.
func TestLock(t *testing.T) {
	t.Parallel()
	db := ofPostgres.open(t).Connect(t)
	dbtest.Exec(t, db, ofPostgres.on(t, sqlgen.Writer{}, pausing...)...)
	dbtest.Exec(t, db, "CREATE TABLE rows (id bigint)")
	together(t, db, "INSERT INTO rows SELECT snowkey_next(2) UNION ALL SELECT snowkey_next()", 0)
	if all, different := countIDs(t, db, "rows"); all != 240 || different != all {
		t.Errorf("%d rows have %d different ids", all, different)
	}
}

// together executes a statement ten times in each of eight sessions, with pauses.
func together(t *testing.T, db *sql.DB, statement string, pause time.Duration) {
	t.Helper()
	var wait sync.WaitGroup
	for range 8 {
		conn := session(t, db)
		wait.Go(func() {
			for range 10 {
				if _, err := conn.ExecContext(t.Context(), statement); err != nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
		})
	}
	wait.Wait()
}

// TestFirst reserves a worker number before the first process adds rows. The processes
// find the rows that they would have added.
func TestFirst(t *testing.T) {
	t.Parallel()
	db := ofPostgres.open(t).Connect(t)
	for i, tt := range []struct {
		layout idgen.Layout
		rows   int64
	}{{idgen.DefaultLayout(), 1024}, {dbtest.Must(idgen.Preset("sonyflake"))(t), 1025}} {
		cfg := snowkey.Config{Layout: tt.layout, Namespace: fmt.Sprint("n", i), PreferSame: true}
		install(t, db, sqlgen.Writer{Layout: tt.layout, Namespace: cfg.Namespace, Name: fmt.Sprint("next", i)})
		for range 3 {
			pool := dbtest.Must(snowkey.Open(t.Context(), sqlstore.Postgres(db), cfg))(t)
			defer pool.Close(context.Background())
		}
		if rows := count(t, db, "count(*) FROM snowkey_lease WHERE namespace = '"+cfg.Namespace+"'"); rows != tt.rows {
			t.Errorf("%v: %d rows, want %d", tt.layout, rows, tt.rows)
		}
	}
}
