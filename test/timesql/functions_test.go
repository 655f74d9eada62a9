// Package timesql tests the SQL that reads times from ids, and the pages about it, about
// partitions by time and about leaving Snowkey.
package timesql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/timesql"
)

// A sample is a layout with ids and times to try.
type sample struct {
	name   string
	layout idgen.Layout
	ids    []int64
	times  []time.Time // any, also outside the lifetime
}

// samples returns all presets, and layouts in which the order of the fields, the units and the
// epochs are drawn.
func samples(t *testing.T) []sample {
	t.Helper()
	presets := maps.Collect(idgen.Presets())
	presets["twitter in datacenter 31"] = dbtest.Must(presets["twitter"].WithFixed("datacenter", 31))(t)
	for seed := range uint64(16) {
		presets[fmt.Sprintf("drawn %d", seed)] = drawn(t, rand.New(rand.NewPCG(seed, 0)))
	}
	var all []sample
	for name, layout := range presets {
		s := sample{name: name, layout: layout, ids: []int64{0, 1, -2, -1, math.MaxInt64 - 1, math.MaxInt64}}
		random := rand.New(rand.NewPCG(1, uint64(len(name))))
		for range 6 { // pairs that differ by one
			id := random.Int64() >> random.IntN(20)
			s.ids = append(s.ids, id, id+1)
		}
		life := layout.Lifetime()
		s.times = append(s.times, life.Start, life.Start.Add(layout.Unit()), life.End.Add(-time.Millisecond), // inside
			life.Start.Add(-time.Millisecond), life.End, time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
		for range 6 {
			at := life.Start.Add(time.Duration(random.Int64N(int64(life.End.Sub(life.Start)))))
			tick := at.Truncate(layout.Unit())
			s.times = append(s.times, at, tick, tick.Add(-time.Microsecond), tick.Add(-time.Millisecond))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b sample) int { return strings.Compare(a.name, b.name) })
	return all
}

// drawn returns a layout whose times every database can represent.
func drawn(t *testing.T, random *rand.Rand) idgen.Layout {
	t.Helper()
	units := []time.Duration{time.Millisecond, 3 * time.Millisecond, 1500 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour, 36 * time.Hour}
	unit := units[random.IntN(len(units))]
	epoch := time.Date(1970+random.IntN(130), 7, 1, 2, 3, 4, random.IntN(1000)*1e6, time.UTC)
	fields := []idgen.Field{idgen.Time(20 + random.IntN(25))}
	low := []idgen.Field{idgen.Worker(1 + random.IntN(6)), idgen.Rollback(1), idgen.Sequence(1 + random.IntN(6))}
	if random.IntN(2) == 0 {
		low = append(low, idgen.Fixed("service", 3, int64(random.IntN(8))), idgen.Fixed("Not a plain word", 1, 1))
	}
	random.Shuffle(len(low), func(i, j int) { low[i], low[j] = low[j], low[i] })
	if random.IntN(2) == 0 {
		fields = slices.Insert(fields, 0, idgen.Fixed("region", 2, int64(random.IntN(4))))
	}
	return dbtest.Must(idgen.NewLayout(epoch, unit, append(fields, low...)...))(t)
}

// A server runs the functions of a layout. NULL is an empty text.
type server struct {
	precision time.Duration // of its times
	last      time.Time     // the last one that it can represent

	read  func(field string, ids []int64) ([]string, error) // the field "time" is the time
	write func(t time.Time) (smallest, largest *int64, err error)
}

// check returns everything that the functions of a sample compute wrongly.
func (s sample) check(srv server) (problems []string) {
	report := func(format string, args ...any) {
		problems = append(problems, s.name+": "+fmt.Sprintf(format, args...))
	}
	names := []string{"worker", "sequence"}
	for _, f := range s.layout.Fields() {
		if !slices.Contains(names, f.Name) && f.Name != "time" && !strings.Contains(f.Name, " ") {
			names = append(names, f.Name)
		}
	}
	if len(s.layout.Fields()) == 2 { // it has no worker field
		names = []string{"sequence"}
	}
	for _, name := range append(names, "time") {
		values, err := srv.read(name, s.ids)
		if err != nil {
			report("%s: %v", name, err)
		}
		for i, got := range values {
			at, fields := s.want(s.ids[i])
			want := strconv.FormatInt(fields[name], 10)
			if name == "time" {
				want = ""
				if !at.After(srv.last) {
					want = at.UTC().Format(textTime)
				}
				if at, err := time.Parse(textTime, got); err == nil { // the number of digits doesn't matter
					got = at.Format(textTime)
				}
			}
			if got != want {
				report("the %s of %d is %q, want %q", name, s.ids[i], got, want)
			}
		}
	}
	for _, at := range s.times {
		at = at.Truncate(srv.precision)
		if at.After(srv.last) {
			continue
		}
		want, err := s.layout.MinID(at)
		most, err2 := s.layout.MaxID(at)
		smallest, largest, failed := srv.write(at)
		switch {
		case err != nil && failed == nil:
			report("the ids of %v are %v to %v, but the layout has none: %v", at, smallest, largest, err)
		case err == nil && err2 == nil && (failed != nil || smallest == nil || largest == nil):
			report("the ids of %v are NULL, or %v", at, failed)
		case err == nil && (*smallest != want || *largest != most):
			report("the ids of %v are %d to %d, want %d to %d", at, *smallest, *largest, want, most)
		}
	}
	return problems
}

// want returns the parts of an id, as Go reads them. Package idgen compares these with published
// ids.
func (s sample) want(id int64) (at time.Time, fields map[string]int64) {
	d := s.layout.Decode(id)
	fields = map[string]int64{"worker": d.Worker, "rollback": d.Rollback, "sequence": d.Sequence}
	for _, f := range s.layout.Fields() {
		if f.Fixed {
			fields[f.Name], d.Fixed = d.Fixed[0], d.Fixed[1:]
		}
	}
	return d.Time, fields
}

// kind returns the name of a database for timesql.
func kind(db dbtest.DB) string {
	if db.MariaDB {
		return "mariadb"
	}
	return db.Dialect
}

// session returns a connection in a time zone other than UTC, since no function may depend
// on it.
func session(t *testing.T, db dbtest.DB) *sql.Conn {
	t.Helper()
	conn := dbtest.Must(db.Connect(t).Conn(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	switch db.Dialect {
	case "postgres":
		dbtest.Exec(t, conn, "SET TIME ZONE 'Asia/Kathmandu'")
	case "mysql":
		dbtest.Exec(t, conn, "SET time_zone = '+05:45'")
	}
	return conn
}

// An execer is a connection or a pool of connections.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// layouts in which SQL stores and reads times
const textTime = "2006-01-02 15:04:05.999999"

// newServer returns the functions on a connection. SQLite has the statements only.
func newServer(t *testing.T, db dbtest.DB, conn execer, statements []string) server {
	srv := server{precision: time.Microsecond, last: time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)}
	srv.read = func(field string, ids []int64) (values []string, err error) {
		query := "SELECT snowkey_" + field + "(%d)"
		switch {
		case db.Dialect == "sqlite":
			query = "SELECT " + field + " FROM (" + statements[0] + ")"
		case field == "time" && db.Dialect == "postgres":
			query = "SELECT to_char(snowkey_time(%d) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
		case field == "time":
			query = "SELECT CAST(snowkey_time(%d) AS CHAR)"
		}
		for _, id := range ids {
			var v sql.NullString
			of, args := query, []any{sql.Named("id", id)}
			if db.Dialect != "sqlite" {
				of, args = fmt.Sprintf(query, id), nil
			}
			if err := one(t, conn, of, args, &v); err != nil {
				return nil, err
			}
			values = append(values, v.String)
		}
		return values, nil
	}
	srv.write = func(at time.Time) (smallest, largest *int64, err error) {
		query, args := fmt.Sprintf("SELECT snowkey_min_id('%[1]s'), snowkey_max_id('%[1]s')", at.Format(textTime)), []any(nil)
		switch db.Dialect {
		case "postgres":
			query = strings.ReplaceAll(query, "')", "+00')")
		case "sqlite":
			query, args = statements[1], []any{sql.Named("time", at.Format(textTime))}
		}
		err = one(t, conn, query, args, &smallest, &largest)
		return smallest, largest, err
	}
	if db.Dialect == "sqlite" {
		srv.precision = time.Millisecond
	}
	return srv
}

// one reads the only row of a query.
func one(t *testing.T, conn execer, query string, args []any, to ...any) error {
	return conn.QueryRowContext(t.Context(), query, args...).Scan(to...)
}

// problems runs the statements of a layout, checks a sample, and drops the functions.
func problems(t *testing.T, db dbtest.DB, conn execer, s sample, statements, drop []string) []string {
	t.Helper()
	if drop != nil { // SQLite has only queries
		dbtest.Exec(t, conn, statements...)
		defer dbtest.Exec(t, conn, drop...)
	}
	return s.check(newServer(t, db, conn, statements))
}

// TestFunctions compares the functions with Go. It also runs
// the functions of DefaultLayout as v0.1.0 printed them. Those files are frozen, because
// users have them in their migrations.
func TestFunctions(t *testing.T) {
	t.Parallel()
	all := samples(t)
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := session(t, db)
		for _, s := range all {
			statements, drop, err := timesql.Statements(s.layout, kind(db))
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			for _, problem := range problems(t, db, conn, s, statements, drop) {
				t.Error(problem)
			}
			if s.name != "Default" {
				continue
			}
			text := dbtest.Must(os.ReadFile("testdata/printed/" + db.Dialect + ".sql"))(t) // MariaDB had those of MySQL
			for _, problem := range problems(t, db, conn, s, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n----\n"), drop) {
				t.Error("as printed by v0.1.0: ", problem)
			}
			query := "SELECT time FROM (" + strings.ReplaceAll(statements[0], ":id", "NULL") + ")"
			if drop != nil {
				query = "SELECT snowkey_time(NULL)"
				dbtest.Exec(t, conn, statements...)
			}
			var nothing sql.NullString
			if err := one(t, conn, query, nil, &nothing); err != nil || nothing.Valid {
				t.Errorf("the time of NULL is %v, %v", nothing, err)
			}
			dbtest.Exec(t, conn, drop...)
		}
	})
}
