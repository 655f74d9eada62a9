package pk_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// A session is one of the ways to connect to a database. The protocol determines how
// parameters are sent, and which Go type a column has.
type session struct {
	*sql.DB
	dialect string
	mode    string // how the driver sends parameters
	mariaDB bool
	strict  bool // whether tables are STRICT; all other SQLite tables accept anything in any column
}

func eachSession(t *testing.T, test func(*testing.T, session)) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) { sessions(t, db, test) })
}

func sessions(t *testing.T, db dbtest.DB, test func(*testing.T, session)) {
	strict := false
	run := func(name string, open func() (*sql.DB, error)) {
		t.Run(name, func(t *testing.T) {
			conn := dbtest.Must(open())(t)
			defer conn.Close()
			test(t, session{conn, db.Dialect, name, db.MariaDB, strict})
		})
	}
	switch db.Dialect {
	case "mysql":
		for name, interpolate := range map[string]bool{"prepared": false, "interpolated": true} {
			run(name, func() (*sql.DB, error) {
				config, err := mysql.ParseDSN(db.DSN)
				if err != nil {
					return nil, err
				}
				config.InterpolateParams = interpolate
				connector, err := mysql.NewConnector(config)
				return sql.OpenDB(connector), err
			})
		}
	case "postgres":
		for name, mode := range map[string]pgx.QueryExecMode{
			"cached": pgx.QueryExecModeCacheStatement, "described": pgx.QueryExecModeDescribeExec,
			"exec": pgx.QueryExecModeExec, "simple": pgx.QueryExecModeSimpleProtocol,
		} {
			run(name, func() (*sql.DB, error) {
				config, err := pgx.ParseConfig(db.DSN)
				if err != nil {
					return nil, err
				}
				config.DefaultQueryExecMode = mode
				return stdlib.OpenDB(*config), nil
			})
		}
	default:
		run("default", func() (*sql.DB, error) { return sql.Open(db.Driver, db.DSN) })
		strict = true
		run("strict", func() (*sql.DB, error) { return sql.Open(db.Driver, db.DSN) })
	}
}

// sql replaces the placeholders by numbered ones for Postgres.
func (s session) sql(query string) string {
	if s.dialect != "postgres" {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// exec returns the number of rows that were changed.
func (s session) exec(t *testing.T, query string, args ...any) int64 {
	t.Helper()
	result, err := s.ExecContext(t.Context(), s.sql(query), args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return dbtest.Must(result.RowsAffected())(t)
}

// table creates an empty table t whose key column has the given type. It closes idle
// connections, because pgx still has statements that were prepared for the previous t.
func (s session) table(t *testing.T, column string) {
	t.Helper()
	s.SetMaxIdleConns(0)
	s.SetMaxIdleConns(1)
	s.exec(t, "DROP TABLE IF EXISTS t")
	if s.strict {
		s.exec(t, "CREATE TABLE t (label TEXT, id "+strictTypes.Replace(column)+") STRICT")
		return
	}
	s.exec(t, "CREATE TABLE t (label VARCHAR(20), id "+column+")")
}

// strictTypes translates column types to the types that STRICT tables of SQLite have.
var strictTypes = strings.NewReplacer("BIGINT", "INTEGER", "VARCHAR(20)", "TEXT", "CHAR(20)", "TEXT", "CHAR(13)", "TEXT")

func column[V any](t *testing.T, s session, query string, args ...any) []V {
	t.Helper()
	rows, err := s.QueryContext(t.Context(), s.sql(query), args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var values []V
	for rows.Next() {
		var v V
		if err := rows.Scan(&v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values
}

// TestColumns checks the table in the package documentation on real databases.
func TestColumns(t *testing.T) {
	eachSession(t, func(t *testing.T, s session) {
		integers := []string{"BIGINT"}
		if s.dialect == "mysql" {
			integers = append(integers, "BIGINT UNSIGNED")
		}
		for _, column := range integers {
			holds(t, s, column, pk.ID(low), pk.ID(high))
			holds(t, s, column, pk.Of[user](low), pk.Of[user](high))
			holds(t, s, column, pk.Prefixed[user](low), pk.Prefixed[user](high))
			holds(t, s, column, public.ID[user](low), public.ID[user](high))
			holds(t, s, column, pk.String(decimal(low)), pk.String(decimal(high)))
			// TestQueriesFindWrongRows shows why you shouldn't use this.
			holds(t, s, column, pk.Text(low), pk.Text(high))
		}
		for _, column := range []string{"VARCHAR(20)", "CHAR(20)", "TEXT"} {
			holds(t, s, column, pk.Text(low), pk.Text(high))
			holds(t, s, column, pk.SortText(low), pk.SortText(high))
		}
		holds(t, s, "CHAR(13)", pk.SortText(low), pk.SortText(high))
	})
}

// holds writes two consecutive keys and NULLs to a column, and reads them into all types of
// fields that programs use. See TestQueries for conditions and changes.
func holds[K comparable](t *testing.T, s session, columnType string, a, b K) {
	t.Run(fmt.Sprintf("%s %T", columnType, a), func(t *testing.T) {
		s.table(t, columnType)
		s.exec(t, "INSERT INTO t (label, id) VALUES ('low', ?), ('high', ?), ('nil', ?), ('null', ?)",
			sql.Null[K]{V: a, Valid: true}, &b, (*K)(nil), sql.Null[K]{})

		row := "SELECT id FROM t WHERE label = ?"
		for label, want := range map[string]K{"low": a, "high": b} {
			if got := column[string](t, s, row, label)[0]; strings.TrimRight(got, " ") != stored(want) {
				t.Errorf("%v is stored as %q", want, got)
			}
			if got := column[K](t, s, row, label)[0]; got != want {
				t.Errorf("%v came back as %v", want, got)
			}
			if got := column[*K](t, s, row, label)[0]; got == nil || *got != want {
				t.Errorf("%v came back as the pointer %v", want, got)
			}
			if got := column[sql.Null[K]](t, s, row, label)[0]; !got.Valid || got.V != want {
				t.Errorf("%v came back as %+v", want, got)
			}
		}
		for _, label := range []string{"nil", "null"} {
			if got := column[K](t, s, row, label)[0]; got != *new(K) {
				t.Errorf("NULL came back as %v", got)
			}
			if got := column[*K](t, s, row, label)[0]; got != nil {
				t.Errorf("NULL came back as the pointer %v", *got)
			}
			if got := column[sql.Null[K]](t, s, row, label)[0]; got.Valid {
				t.Errorf("NULL came back as %+v", got)
			}
		}
	})
}

func TestSortTextOrderInColumns(t *testing.T) {
	columns := map[string][]string{
		"sqlite":   {"CHAR(13)", "CHAR(13) COLLATE NOCASE", "TEXT"},
		"postgres": {"CHAR(13)", `CHAR(13) COLLATE "C"`, `CHAR(13) COLLATE "en-x-icu"`, "TEXT"},
		"mysql": {
			"CHAR(13)", "CHAR(13) CHARACTER SET ascii COLLATE ascii_bin", "CHAR(13) CHARACTER SET latin1 COLLATE latin1_german2_ci",
			"CHAR(13) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "CHAR(13) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
		},
	}
	numbers := []int64{0, 1, 31, 32, 33, 1023, 1024, 1<<60 - 1, 1 << 60, math.MaxInt64 - 1, math.MaxInt64}
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		numbers = append(numbers, int64(random.Uint64()>>(1+random.UintN(63))))
	}
	for i := range int64(64) { // includes each letter next to its neighbours
		numbers = append(numbers, high+i)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	shuffled := random.Perm(len(numbers))

	eachSession(t, func(t *testing.T, s session) {
		for _, columnType := range columns[s.dialect] {
			t.Run(columnType, func(t *testing.T) {
				s.table(t, columnType)
				insert := "INSERT INTO t (id) VALUES (?)" + strings.Repeat(", (?)", len(numbers)-1)
				var args []any
				for _, i := range shuffled {
					args = append(args, pk.SortText(numbers[i]))
				}
				s.exec(t, insert, args...)
				got := column[pk.SortText](t, s, "SELECT id FROM t ORDER BY id")
				if !slices.EqualFunc(got, numbers, func(k pk.SortText, n int64) bool { return k.Int64() == n }) {
					t.Errorf("ORDER BY is not numeric order: %v", got)
				}
				middle := numbers[len(numbers)/2]
				if n := column[int](t, s, "SELECT count(*) FROM t WHERE id < ?", pk.SortText(middle))[0]; n != len(numbers)/2 {
					t.Errorf("WHERE id < ? counts %d, want %d", n, len(numbers)/2)
				}
			})
		}
	})
}
