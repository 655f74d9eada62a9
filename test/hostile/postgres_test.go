package hostile

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestPostgres has all tests of Postgres that can share a server.
func TestPostgres(t *testing.T) {
	t.Parallel()
	testAll(t, dbtest.Postgres(t), postgresSessions(), postgresObjects)
}

// testAll lets programs lease and draw from a segment under each setting, and with each object.
func testAll(t *testing.T, server dbtest.DB, sessions []row, objects []object) {
	each(t, sessions, func(r row) string { return r.name }, func(t *testing.T, r row) { r.test(t, server) })
	t.Run("segments", func(t *testing.T) {
		each(t, sessions, func(r row) string { return r.name }, func(t *testing.T, r row) { r.testSegment(t, server) })
	})
	t.Run("objects", func(t *testing.T) {
		each(t, objects, func(o object) string { return o.name + " on " + o.table }, func(t *testing.T, o object) { o.test(t, server) })
	})
}

// postgresSessions are settings under which two programs share a worker number.
func postgresSessions() (rows []row) {
	set := func(statements ...string) session { return session{init: statements} }
	// Not every driver checks whether the application has left a transaction open.
	likePQ := session{noReset: true}
	for _, r := range []row{
		{fast: true, name: "transactions left open", session: likePQ, app: leavesOpen("BEGIN")},
		{fast: true, name: "one transaction left open", session: likePQ, app: once(leavesOpen("BEGIN"))},
		{name: "one serializable transaction left open", session: likePQ, app: once(leavesOpen("BEGIN ISOLATION LEVEL SERIALIZABLE"))},
		{name: "one read-only transaction left open", session: likePQ, app: once(leavesOpen("BEGIN READ ONLY"))},
		{fast: true, name: "one failed transaction left open", session: likePQ, app: once(leavesOpen("BEGIN; SELECT 1/0"))},
		{name: "one transaction left open, reset by pgx", app: once(leavesOpen("BEGIN"))},
		{name: "one transaction left open, exec mode", app: once(leavesOpen("BEGIN")),
			session: session{noReset: true, dsn: "default_query_exec_mode=exec"}},
		{fast: true, name: "one transaction left open, simple protocol", app: once(leavesOpen("BEGIN")),
			session: session{noReset: true, dsn: "default_query_exec_mode=simple_protocol"}},
	} {
		rows = append(rows, r.variants()...)
	}
	rows = append(rows, []row{
		{name: "defaults, without reset", session: likePQ},
		{fast: true, name: "isolation serializable", session: set("SET default_transaction_isolation = 'serializable'")},
		{name: "read-only", session: set("SET default_transaction_read_only = on"), want: worksOrRefused, names: "read-only"},
		{fast: true, name: "read-only, tables exist", session: set("SET default_transaction_read_only = on"), exist: true, want: worksOrRefused, names: "read-only"},
		{name: "deferrable", session: set("SET default_transaction_deferrable = on")},
		{name: "deferrable and serializable", session: set("SET default_transaction_deferrable = on", "SET default_transaction_isolation = 'serializable'")},
		{name: "deferrable, serializable and read-only", want: worksOrRefused, names: "read-only",
			session: set("SET default_transaction_deferrable = on", "SET default_transaction_isolation = 'serializable'", "SET default_transaction_read_only = on")},
		{fast: true, name: "synchronous_commit=off", session: set("SET synchronous_commit = off")},
		{fast: true, name: "session_replication_role=replica", session: set("SET session_replication_role = replica")},
		{name: "row_security=off", session: set("SET row_security = off")},
		{name: "transform_null_equals=on", session: set("SET transform_null_equals = on")},
		{name: "standard_conforming_strings=off", session: set("SET standard_conforming_strings = off")},
		{fast: true, name: "simple protocol and standard_conforming_strings=off", want: worksOrRefused, names: "standard_conforming_strings",
			session: session{dsn: "default_query_exec_mode=simple_protocol", init: []string{"SET standard_conforming_strings = off"}}},
		{name: "cache_describe mode", session: session{dsn: "default_query_exec_mode=cache_describe"}},
		{name: "client_encoding LATIN1 and UTF8", session: set("SET client_encoding = 'LATIN1'"), ofB: &session{}, want: worksOrRefused, names: "encoding"},
		{fast: true, name: "client_encoding LATIN1 and UTF8, namespace beyond ASCII", session: set("SET client_encoding = 'LATIN1'"), ofB: &session{}, space: "größe", want: worksOrRefused, names: "encoding"},
		// Nobody may create tables in pg_catalog, which some of the connections have first.
		{fast: true, name: "another search_path for each connection", exist: true, session: session{each: []string{`SET search_path = public`, `SET search_path = "$user", public`, `SET search_path = pg_catalog, public`}}},
		{name: "another TimeZone and DateStyle for each connection", session: session{each: []string{"SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'German'", "SET TimeZone = 'UTC'"}}},
		{name: "lock_timeout and statement_timeout", session: set("SET lock_timeout = '100ms'", "SET statement_timeout = '5s'")},
	}...)
	return selected(rows)
}
