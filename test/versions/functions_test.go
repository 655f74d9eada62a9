package versions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// reserved is the worker number that the SQL reserves if no other one is given.
const reserved = 1023

// A session is a connection to a database.
type session struct {
	*sql.Conn
	t *testing.T
}

func open(t *testing.T, conn *sql.DB) session {
	t.Helper()
	c := dbtest.Must(conn.Conn(t.Context()))(t)
	t.Cleanup(func() { c.Close() })
	return session{c, t}
}

func (s session) run(statements ...string) {
	s.t.Helper()
	for _, statement := range statements {
		if _, err := s.ExecContext(s.t.Context(), statement); err != nil {
			s.t.Fatalf("%v\n%s", err, statement)
		}
	}
}

// next calls the function. Each call is a statement of its own.
func (s session) next() (id int64, err error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	err = s.QueryRowContext(ctx, "SELECT snowkey_next()").Scan(&id)
	return id, err
}

// draw returns ids of n calls. They ascend and have the layout.
func (s session) draw(n int) (ids []int64) {
	s.t.Helper()
	for range n {
		id := dbtest.Must(s.next())(s.t)
		ids = append(ids, id)
	}
	for i, id := range ids {
		parts := idgen.DefaultLayout().Decode(id)
		if parts.Worker != reserved || time.Since(parts.Time).Abs() > 30*time.Second || i > 0 && id <= ids[i-1] {
			s.t.Fatalf("the ids %d and %d, which is %+v", ids[max(i-1, 0)], id, parts)
		}
	}
	return ids
}

// withFunctions runs a test on each database that has the functions. The server is
// postgres, mysql or mariadb.
func withFunctions(t *testing.T, test func(t *testing.T, server string, db dbtest.DB)) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		server := db.Dialect
		switch {
		case server == "sqlite":
			return // snowkey sql prints nothing for it
		case server == "postgres":
			db = db.Since(t, 15)
		case db.MariaDB:
			server = "mariadb"
		}
		test(t, server, db)
	})
}

// present returns the statements that this release prints.
func present(t *testing.T, server string, w sqlgen.Writer) []string {
	t.Helper()
	write := map[string]func() ([]string, error){"postgres": w.Postgres, "mariadb": w.MariaDB, "mysql": w.MySQL}[server]
	return dbtest.Must(write())(t)
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
		old := open(t, conn)
		old.run(frozen...)
		old.run(frozen...) // a migration can be executed again

		cfg := config
		cfg.MaxWorker, cfg.MaxClockSkew = 0, 0 // the defaults, for which the functions were printed
		pool := poolOf(t, db, conn, cfg)
		other := open(t, conn)
		all := slices.Concat(old.draw(100), other.draw(100), old.draw(100))
		last := slices.Max(all)
		open(t, conn).run(present(t, server, sqlgen.Writer{})...)
		after := open(t, conn).draw(100)
		if first := slices.Min(after); first <= last {
			t.Errorf("after the upgrade, the ids start at %d; %d was made before", first, last)
		}
		after = slices.Concat(after, old.draw(100), other.draw(100))
		for range 1000 {
			id := dbtest.Must(pool.Next(t.Context()))(t)
			if idgen.DefaultLayout().Decode(id).Worker == reserved {
				t.Fatalf("a process made the id %d with the worker number of SQL", id)
			}
		}
		all = append(all, after...)
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
			t.Errorf("%d ids are %d different ones", len(all), n)
		}
	})
}

// stateOf returns the SQLSTATE of an error.
func stateOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return string(e.SQLState[:])
	}
	return fmt.Sprint(err)
}

// When the lease tables are dropped for an upgrade, the functions make no ids until they
// are installed again. A session that has checked the row before may go on for
// Window + MaxClockSkew. The new tables start above its ids.
func TestFunctionsAfterTheTablesAreDropped(t *testing.T) {
	t.Parallel()
	withFunctions(t, func(t *testing.T, server string, db dbtest.DB) {
		conn := db.Connect(t)
		const missing, notReserved = "42P01 42S02", "55000"
		w := sqlgen.Writer{Window: 2 * time.Second, MaxClockSkew: 50 * time.Millisecond}
		cfg := snowkey.Config{Window: w.Window, MaxClockSkew: w.MaxClockSkew, MaxWorker: reserved - 1, Logger: config.Logger}
		old := open(t, conn)
		old.run(present(t, server, w)...)
		ids := old.draw(100)
		fails := func(when, states string) {
			t.Helper()
			id, err := open(t, conn).next()
			if state := stateOf(err); err == nil || !strings.Contains(states, state) {
				t.Errorf("%s, a new session: %d, %v", when, id, err)
			}
		}

		dropTables(t, conn)
		dropped := time.Now()
		fails("without tables", missing)
		pool := poolOf(t, db, conn, cfg) // creates the tables
		fails("with new tables", notReserved)
		first := dbtest.Must(pool.Next(t.Context()))(t)
		// The last check of the open session was before the tables were dropped.
		limit := dropped.Add(w.Window + w.MaxClockSkew)
		went := 0
		for {
			began := time.Now()
			id, err := old.next()
			if err != nil {
				if state := stateOf(err); state != notReserved {
					t.Errorf("the open session failed with %v", err)
				}
				break
			}
			if began.After(limit.Add(time.Second)) {
				t.Fatalf("the open session still makes ids %v after the tables were dropped", began.Sub(dropped))
			}
			went++
			ids = append(ids, id)
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("the open session made %d ids within %v", went, time.Since(dropped))
		if counter, most := counterOf(first), counterOf(slices.Max(ids)); counter <= most {
			t.Errorf("the new tables granted the counter %d, and SQL has used %d", counter, most)
		}

		open(t, conn).run(present(t, server, w)...)
		after := slices.Concat(open(t, conn).draw(100), old.draw(100))
		if slices.Min(after) <= slices.Max(ids) {
			t.Errorf("after the upgrade, the ids start at %d; %d was made before", slices.Min(after), slices.Max(ids))
		}
	})
}

func counterOf(id int64) int64 {
	parts := idgen.DefaultLayout().Decode(id)
	return at(parts.Time) + parts.Sequence
}
