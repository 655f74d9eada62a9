package versions

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// reserved is the worker number that the SQL reserves if no other one is given.
const reserved = 1023

func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn := dbtest.Must(db.Conn(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// next calls the function in a statement of its own.
func next(t *testing.T, conn *sql.Conn) (id int64, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = conn.QueryRowContext(ctx, "SELECT snowkey_next()").Scan(&id)
	return id, err
}

// draw returns ids of 100 calls. They ascend and have the layout.
func draw(t *testing.T, conn *sql.Conn) (ids []int64) {
	t.Helper()
	last := int64(0)
	for range 100 {
		id := dbtest.Must(next(t, conn))(t)
		parts := idgen.DefaultLayout().Decode(id)
		if parts.Worker != reserved || time.Since(parts.Time).Abs() > 30*time.Second || id <= last {
			t.Fatalf("the id %d, which is %+v, after %d", id, parts, last)
		}
		ids, last = append(ids, id), id
	}
	return ids
}

// withFunctions runs a test on each database that has the functions. The server is
// postgres, mysql or mariadb.
func withFunctions(t *testing.T, test func(t *testing.T, server string, db dbtest.DB)) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		switch {
		case db.Dialect == "postgres":
			test(t, "postgres", db.Since(t, 15))
		case db.MariaDB:
			test(t, "mariadb", db)
		default:
			test(t, "mysql", db)
		}
	})
}

// script returns the statements of a file that "snowkey sql" has printed. A client of
// MySQL ends a statement at the text that DELIMITER names.
func script(text string) []string {
	body, isMySQL := strings.CutPrefix(text, "DELIMITER //\n")
	if !isMySQL {
		return []string{text}
	}
	statements := strings.Split(strings.TrimSuffix(body, "\nDELIMITER ;\n"), "//\n")
	return statements[:len(statements)-1]
}

// poolOf opens a pool in the lease tables of a database.
func poolOf(t *testing.T, db dbtest.DB, conn *sql.DB, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	pool := dbtest.Must(snowkey.Open(ctx, storeOf(db.Dialect, conn), cfg))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// Functions that an earlier release printed work with the present code, and the present
// functions replace them. The files of testdata are installed without change.
func TestFunctionsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	withFunctions(t, func(t *testing.T, server string, db dbtest.DB) {
		frozen := script(read(t, fmt.Sprintf("testdata/protocol%d/sql/%s.sql", protocol.Version, server)))
		conn := db.Connect(t)
		dbtest.NoError(t, storeOf(db.Dialect, conn).Migrate(t.Context()))
		dbtest.Exec(t, conn, frozen...)
		dbtest.Exec(t, conn, frozen...) // a migration can be executed again

		cfg := config
		cfg.MaxWorker, cfg.MaxClockSkew = 0, 0 // the defaults, for which the functions were printed
		pool := poolOf(t, db, conn, cfg)
		old, other := session(t, conn), session(t, conn)
		all := slices.Concat(draw(t, old), draw(t, other), draw(t, old))
		last := slices.Max(all)
		dbtest.Exec(t, conn, dbtest.Must(sqlgen.Writer{}.Statements(server, ""))(t).Create...)
		after := draw(t, session(t, conn))
		if first := after[0]; first <= last {
			t.Errorf("after the upgrade, the ids start at %d; %d was made before", first, last)
		}
		for _, id := range dbtest.Must(pool.NextN(t.Context(), 1000))(t) {
			if idgen.DefaultLayout().Decode(id).Worker == reserved {
				t.Fatalf("a process made the id %d with the worker number of SQL", id)
			}
		}
		all = slices.Concat(all, after, draw(t, old), draw(t, other))
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
			t.Errorf("%d ids are %d different ones", len(all), n)
		}
	})
}

// When the lease tables are dropped for an upgrade, the functions make no ids until they
// are installed again. A session that has checked the row before may go on for
// Window + MaxClockSkew. The new tables start above its ids.
func TestFunctionsAfterTheTablesAreDropped(t *testing.T) {
	t.Parallel()
	withFunctions(t, func(t *testing.T, server string, db dbtest.DB) {
		conn := db.Connect(t)
		w := sqlgen.Writer{Window: 2 * time.Second, MaxClockSkew: 50 * time.Millisecond}
		dbtest.Exec(t, conn, dbtest.Must(w.Statements(server, ""))(t).Create...)
		old := session(t, conn)
		ids := draw(t, old)
		const notReserved = "55000"
		fails := func(when, state string) {
			t.Helper()
			if id, err := next(t, session(t, conn)); err == nil || !strings.Contains(err.Error(), state) {
				t.Errorf("%s, a new session: %d, %v", when, id, err)
			}
		}

		dropTables(t, conn)
		// The last check of the open session was before the tables were dropped.
		limit := time.Now().Add(w.Window + w.MaxClockSkew)
		fails("without tables", map[string]string{"postgres": "42P01", "mysql": "42S02"}[db.Dialect])
		pool := poolOf(t, db, conn, snowkey.Config{Window: w.Window, MaxClockSkew: w.MaxClockSkew, MaxWorker: reserved - 1, Logger: config.Logger}) // creates the tables
		fails("with new tables", notReserved)
		first := dbtest.Must(pool.Next(t.Context()))(t)
		for began := time.Now(); ; began = time.Now() {
			id, err := next(t, old)
			if err != nil {
				if !strings.Contains(err.Error(), notReserved) {
					t.Errorf("the open session failed with %v", err)
				}
				break
			}
			if began.After(limit.Add(time.Second)) {
				t.Fatalf("the open session still makes ids at %v, and its limit was %v", began, limit)
			}
			ids = append(ids, id)
			time.Sleep(20 * time.Millisecond)
		}
		if counter, most := counterOf(first), counterOf(slices.Max(ids)); counter <= most {
			t.Errorf("the new tables granted the counter %d, and SQL has used %d", counter, most)
		}

		dbtest.Exec(t, conn, dbtest.Must(w.Statements(server, ""))(t).Create...)
		if after := slices.Concat(draw(t, session(t, conn)), draw(t, old)); slices.Min(after) <= slices.Max(ids) {
			t.Errorf("after the upgrade, the ids start at %d; %d was made before", slices.Min(after), slices.Max(ids))
		}
	})
}
