package pgxid_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These keys are consecutive and above 2^53, so they are equal as float64.
const (
	low  = 1234567890123456788
	high = 1234567890123456789
)

func TestMain(m *testing.M) { reuse.Main(m) }

type user struct{}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// modes lists all modes of pgx. In the last two, pgx doesn't ask the server for the
// types of the parameters.
var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement,
	pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

func describes(mode pgx.QueryExecMode) bool {
	return mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
}

func connect(t testing.TB, db dbtest.DB, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	config := dbtest.Must(pgx.ParseConfig(db.DSN))(t)
	config.DefaultQueryExecMode = mode
	conn := dbtest.Must(pgx.ConnectConfig(t.Context(), config))(t)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// each runs a subtest in every mode, on a connection that uses Register.
func each(t *testing.T, test func(*testing.T, *pgx.Conn)) {
	t.Parallel()
	db := reuse.Open(t, "postgres")
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			conn := connect(t, db, mode)
			pgxid.Register(conn.TypeMap())
			test(t, conn)
		})
	}
}

// eachWay runs a subtest in every mode, both with and without Register.
func eachWay(t *testing.T, test func(t *testing.T, conn *pgx.Conn, described, registered bool)) {
	t.Parallel()
	db := reuse.Open(t, "postgres")
	for _, mode := range modes {
		for _, register := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v register=%v", mode, register), func(t *testing.T) {
				conn := connect(t, db, mode)
				if register {
					pgxid.Register(conn.TypeMap())
				}
				test(t, conn, describes(mode), register)
			})
		}
	}
}

func exec(t testing.TB, conn *pgx.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// one returns the only value that a query returns.
func one[V any](t testing.TB, conn *pgx.Conn, query string, args ...any) (V, error) {
	t.Helper()
	rows, _ := conn.Query(t.Context(), query, args...)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[V])
	if err != nil {
		err = fmt.Errorf("%s: %w", query, err)
	}
	return v, err
}

// reads returns an error unless the only value that a query returns is want.
func reads[V any](t testing.TB, conn *pgx.Conn, want V, query string, args ...any) error {
	t.Helper()
	got, err := one[V](t, conn, query, args...)
	if err == nil && !reflect.DeepEqual(got, want) {
		err = fmt.Errorf("%s returns the %T %+v, want %+v", query, got, got, want)
	}
	return err
}

// all returns the only column that a query returns.
func all[V any](t testing.TB, conn *pgx.Conn, query string, args ...any) []V {
	t.Helper()
	rows, _ := conn.Query(t.Context(), query, args...)
	list, err := pgx.CollectRows(rows, pgx.RowTo[V])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}
