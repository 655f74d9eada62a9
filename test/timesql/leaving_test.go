package timesql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// open returns a pool whose leases are in the database.
func open(t *testing.T, db dbtest.DB, conn *sql.DB) *idgen.Pool {
	t.Helper()
	var store lease.Store
	switch db.Dialect {
	case "postgres":
		store = sqlstore.Postgres(conn)
	case "mysql":
		store = sqlstore.MySQL(conn)
	default:
		store = sqlstore.SQLite(conn)
	}
	return dbtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{Window: time.Second, MaxClockSkew: 10 * time.Millisecond}))(t)
}

// A writer inserts orders with keys of Snowkey, in pairs that differ by one if it can, until
// it's stopped.
type writer struct {
	stop  func()
	begun chan struct{} // closed when there are ten ids
	ids   []int64
}

func startWriter(t *testing.T, conn *sql.DB, pool *idgen.Pool) *writer {
	w := &writer{begun: make(chan struct{})}
	quit := make(chan struct{})
	var done sync.WaitGroup
	w.stop = sync.OnceFunc(func() { close(quit); done.Wait() })
	done.Go(func() {
		for {
			select {
			case <-quit:
				return
			case <-time.After(2 * time.Millisecond):
			}
			for range 2 {
				id, err := pool.Next(t.Context())
				if err == nil {
					_, err = conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO orders (id, name) VALUES (%d, 'old')", id))
				}
				if err != nil {
					t.Errorf("a process with Snowkey: %v", err)
					return
				}
				if w.ids = append(w.ids, id); len(w.ids) == 10 {
					close(w.begun)
				}
			}
		}
	})
	t.Cleanup(w.stop)
	return w
}

// TestLeaving executes the steps of docs/leaving-snowkey.md while a process with Snowkey
// writes, until the page says that there is none left. With the SQL default, sessions also
// insert rows without a key, before each step.
func TestLeaving(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"keys of processes", "SQL default"} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				t.Parallel()
				leave(t, db, name == "SQL default")
			})
		})
	}
}

// leave executes the steps. byDefault says whether the table has the SQL default.
func leave(t *testing.T, db dbtest.DB, byDefault bool) {
	if byDefault {
		db = db.Since(t, 15)
	}
	shared := db.Connect(t)
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1) // transactions and variables belong to a session
	if db.Dialect == "sqlite" {
		shared.SetMaxOpenConns(1)
		dbtest.Exec(t, shared, "PRAGMA journal_mode = WAL", "PRAGMA busy_timeout = 10000")
		dbtest.Exec(t, conn, "PRAGMA busy_timeout = 10000")
	}
	functions(t, db, conn, idgen.DefaultLayout())
	key := map[string]string{"postgres": "bigint PRIMARY KEY", "mysql": "BIGINT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}[db.Dialect]
	orders := []string{fmt.Sprintf("CREATE TABLE orders (id %s, name VARCHAR(50) NOT NULL)", key)}
	if byDefault {
		installSQLDefault(t, db, conn)
		orders = withSQLDefault(db, "orders")
	}
	dbtest.Exec(t, conn, orders...)
	dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE items (id %s, order_id BIGINT NOT NULL, CONSTRAINT items_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id))", key))
	pool := open(t, db, shared)
	if byDefault && db.Dialect == "sqlite" {
		idgen.SetDefault(pool)
		defer idgen.SetDefault(nil)
	}
	old := startWriter(t, shared, pool)
	select {
	case <-old.begun:
	case <-time.After(time.Minute):
		t.Fatal("a process with Snowkey inserted no ten rows in a minute")
	}
	dbtest.Exec(t, conn, "INSERT INTO items (id, order_id) SELECT id, id FROM orders")
	if byDefault {
		checkSQLDefaultRefuses(t, db, conn)
	}

	made, counted, counts, locked, dropped := 0, 0, false, false, []string(nil)
	for _, s := range leavingSteps(t, db, byDefault) {
		switch {
		case strings.Contains(strings.ToLower(s), "column uid"), strings.HasPrefix(s, "DROP TABLE snowkey_lease"):
			old.stop()
		case strings.HasPrefix(s, "UPDATE orders SET uid"): // a new row needs one from now on
			counts = false
		case kind(db) == "mysql" && strings.HasPrefix(s, "SET foreign_key_checks = 0"):
			refused(t, conn, "ALTER TABLE orders MODIFY id BIGINT NOT NULL AUTO_INCREMENT", "1833")
		case byDefault && (strings.HasPrefix(s, "BEGIN IMMEDIATE") || strings.HasSuffix(s, "DROP DEFAULT")):
			locked = true // other sessions wait for COMMIT
		}
		if byDefault && !locked && counted == 0 {
			dbtest.Exec(t, conn, "INSERT INTO orders (name) VALUES ('default'), ('default')")
			made += 2
		}
		switch {
		case strings.Contains(s, "?"):
			if _, err := conn.ExecContext(t.Context(), s, newUUID()); err != nil {
				t.Fatalf("%s\n%v", s, err)
			}
		case strings.HasPrefix(s, "SELECT event_object_table"), strings.HasPrefix(s, "PRAGMA foreign_key_check"):
			if got := output(t, conn, s); got != "" {
				t.Errorf("%s\n%s", s, got)
			}
		default:
			dbtest.Exec(t, conn, s)
		}
		switch {
		case strings.HasPrefix(s, "DROP TRIGGER"), strings.HasPrefix(s, "COMMIT") && locked:
			counts, locked = true, false
		case strings.Contains(s, "setval"):
			counts = true
		case strings.HasPrefix(s, "EXECUTE change_id"), strings.Contains(s, "start of the counter"):
			counts = !byDefault
		case strings.HasPrefix(s, "DROP TABLE snowkey_lease"):
			dropped = append(dropped, s)
		}
		if counts { // a process without Snowkey inserts beside one with it
			dbtest.Exec(t, conn, "INSERT INTO orders (name) VALUES ('new'), ('new')")
			counted += 2
			time.Sleep(20 * time.Millisecond)
		}
	}
	old.stop()
	if counted < 3 || len(old.ids) < 10 || (dropped == nil) != (db.Dialect == "sqlite") || byDefault != (made > 3) {
		t.Fatalf("%d keys were counted, %d are of the SQL default, and %d are of processes with Snowkey", counted, made, len(old.ids))
	}
	// Every row exists, and the counted keys are above all others and have no gaps.
	var rows, kept, wrong int
	var least, most int64
	if err := one(t, conn, "SELECT count(*), sum(CASE WHEN name = 'old' THEN 1 ELSE 0 END) FROM orders WHERE name IN ('old', 'default', 'new')", nil, &rows, &kept); err != nil || rows != len(old.ids)+made+counted || kept != len(old.ids) {
		t.Errorf("%d rows, %d of them old, %v; want %d and %d", rows, kept, err, len(old.ids)+made+counted, len(old.ids))
	}
	dbtest.NoError(t, one(t, conn, "SELECT min(id), max(id) FROM orders WHERE name = 'new'", nil, &least, &most))
	if err := one(t, conn, fmt.Sprintf("SELECT count(*) FROM orders WHERE name IN ('old', 'default') AND id >= %d", least), nil, &wrong); err != nil || wrong != 0 || most-least != int64(counted-1) {
		t.Errorf("%d keys of Snowkey are above the first counted one, %v; the counted ones go from %d to %d", wrong, err, least, most)
	}
	checkUUIDs(t, db, conn, postgres18(db))
	// A process that still runs creates the tables again.
	leases := "SELECT count(*) FROM snowkey_lease"
	dbtest.Await(t, "the lease table", func() bool { return db.Dialect == "sqlite" || one(t, conn, leases, nil, new(int)) == nil })
	dbtest.NoError(t, pool.Close(t.Context()))
	dbtest.Exec(t, conn, dropped...)
	refused(t, conn, leases, "snowkey_lease")
	if byDefault {
		checkSQLDefaultIsGone(t, db, conn)
	}
	// Rows are counted after that too.
	uid := map[string]string{"postgres": "'%s'", "mysql": "UUID_TO_BIN('%s')", "mariadb": "'%s'", "sqlite": "'%s'"}[kind(db)]
	dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO orders (name, uid) VALUES ('last', "+uid+")", newUUID()))
	var last, largest int64
	if err := one(t, conn, "SELECT max(CASE WHEN name = 'last' THEN id END), max(CASE WHEN name <> 'last' THEN id END) FROM orders", nil, &last, &largest); err != nil || last <= largest || largest < most {
		t.Errorf("the key of the last row is %d, and the largest one before it %d, %v", last, largest, err)
	}
	checkGoingBack(t, db, shared, conn, byDefault)
}

// checkGoingBack installs Snowkey again. Its ids are above the old ones, but not above the
// counter, which is a day ahead.
func checkGoingBack(t *testing.T, db dbtest.DB, shared, conn *sql.DB, byDefault bool) {
	t.Helper()
	var old, counted int64
	dbtest.NoError(t, one(t, conn, "SELECT max(CASE WHEN name IN ('old', 'default') THEN id END), min(CASE WHEN name = 'new' THEN id END) FROM orders", nil, &old, &counted))
	pool := open(t, db, shared)
	defer pool.Close(context.WithoutCancel(t.Context()))
	id, err := pool.Next(t.Context())
	if err != nil || id <= old || id >= counted {
		t.Errorf("a process with Snowkey makes the id %d, %v; the last one was %d, and the counter started at %d", id, err, old, counted)
	}
	if byDefault && db.Dialect != "sqlite" {
		installSQLDefault(t, db, conn)
		if err := one(t, conn, "SELECT snowkey_next()", nil, &id); err != nil || id <= old || id >= counted {
			t.Errorf("SQL makes the id %d, %v; the last one was %d, and the counter started at %d", id, err, old, counted)
		}
	}
}

// checkUUIDs checks the UUIDs. All are of version 7. Old rows have UUIDs with the times and
// the bits of their ids, and in the same order. On Postgres, times were kept in created_at,
// and the items have the UUIDs of their orders.
func checkUUIDs(t *testing.T, db dbtest.DB, conn *sql.DB, byDefault bool) {
	t.Helper()
	text := map[string]string{"postgres": "uid::text", "mariadb": "CAST(uid AS CHAR)", "mysql": "BIN_TO_UUID(uid)", "sqlite": "uid"}[kind(db)]
	rows := dbtest.Must(conn.QueryContext(t.Context(), "SELECT id, name, lower("+text+") FROM orders WHERE uid IS NOT NULL ORDER BY uid"))(t)
	defer rows.Close()
	layout, form := idgen.DefaultLayout(), regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
	var before int64
	var found []string
	for rows.Next() {
		var id int64
		var name, uid string
		dbtest.NoError(t, rows.Scan(&id, &name, &uid))
		if !form.MatchString(uid) {
			t.Errorf("the UUID of %q is %s", name, uid)
		}
		if name == "tea" || name == "coffee" {
			found = append(found, name)
			continue
		}
		// As snowkey_uuid on PostgreSQL.
		want := fmt.Sprintf("%012x7%03x%x%015x", layout.Decode(id).Time.UnixMilli(), id>>52&4095, 8|id>>50&3, id&(1<<50-1))
		if strings.ReplaceAll(uid, "-", "") != want {
			t.Errorf("the UUID of %d is %s, want %s", id, uid, want)
		}
		if id <= before {
			t.Errorf("the UUIDs of %d and %d are not in the order of the ids", before, id)
		}
		before = id
	}
	if err := rows.Err(); err != nil || before == 0 {
		t.Errorf("the last id with a UUID is %d, %v", before, err)
	}
	if db.Dialect != "postgres" {
		want := []string{"tea"}
		if uuidV7(t, db) {
			want = []string{"coffee", "tea"}
		}
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Errorf("the page inserts rows with UUIDs %v, want %v", found, want)
		}
		return
	}
	var wrong, lost, version int
	if err := one(t, conn, "SELECT count(*) FROM orders WHERE uid IS NOT NULL AND created_at IS NULL", nil, &lost); err != nil || lost != 0 {
		t.Errorf("%d times are missing: %v", lost, err)
	}
	if err := one(t, conn, "SELECT count(*) FROM items LEFT JOIN orders USING (id) WHERE orders.uid IS DISTINCT FROM items.order_uid", nil, &wrong); err != nil || wrong != 0 {
		t.Errorf("%d items have another order: %v", wrong, err)
	}
	if !byDefault {
		refused(t, conn, "INSERT INTO orders (id, name) VALUES (1, 'no uid')", "23502")
	} else if err := one(t, conn, "INSERT INTO orders (id, name) VALUES (1, 'by default') RETURNING uuid_extract_version(uid)", nil, &version); err != nil || version != 7 {
		t.Errorf("the default is a UUID of version %d, %v", version, err)
	}
}
