package hostile

import (
	"testing"
)

// TestMySQL has all tests of MySQL and MariaDB that can share a server.
func TestMySQL(t *testing.T) {
	t.Parallel()
	server := durableMySQL(t)
	testAll(t, server, mysqlSessions(), mysqlObjects)
}

// mysqlSessions are settings under which two programs share a worker number.
func mysqlSessions() (rows []row) {
	set := func(statements ...string) session { return session{init: statements} }
	for _, r := range []row{
		{fast: true, name: "autocommit=0", session: set("SET autocommit = 0")},
		{name: "completion_type=CHAIN", session: set("SET completion_type = 'CHAIN'"), app: oneTransaction},
		{fast: true, name: "completion_type=CHAIN, one transaction", session: set("SET completion_type = 'CHAIN'"), app: once(oneTransaction)},
		{name: "autocommit=0 and completion_type=CHAIN", session: set("SET completion_type = 'CHAIN'", "SET autocommit = 0"), app: oneTransaction},
		{name: "completion_type=RELEASE", session: set("SET completion_type = 'RELEASE'"), app: oneTransaction},
		{fast: true, name: "autocommit=0 and completion_type=RELEASE", session: set("SET completion_type = 'RELEASE'", "SET autocommit = 0"), app: oneTransaction},
		{fast: true, name: "transactions left open", app: leavesOpen("START TRANSACTION")},
		{fast: true, name: "one transaction left open", app: once(leavesOpen("START TRANSACTION"))},
		{name: "one read-only transaction left open", app: once(leavesOpen("START TRANSACTION READ ONLY"))},
		{fast: true, name: "one XA transaction left open", app: once(leavesXA)},
		{fast: true, name: "table locked by the application", app: once(locksTable), want: worksOrRefused, names: "lock"},
	} {
		rows = append(rows, r.variants()...)
	}
	rows = append(rows, []row{
		{name: "isolation READ UNCOMMITTED", session: set("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")},
		{fast: true, name: "isolation SERIALIZABLE and autocommit=0", session: set("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET autocommit = 0")},
		{name: "transaction_read_only=1", session: set("SET SESSION TRANSACTION READ ONLY"), want: worksOrRefused, names: "read"},
		{name: "sql_mode=''", session: set("SET sql_mode = ''")},
		{name: "sql_mode=NO_BACKSLASH_ESCAPES", session: set("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")},
		{name: "sql_mode=HIGH_NOT_PRECEDENCE", session: set("SET sql_mode = 'HIGH_NOT_PRECEDENCE'")},
		{name: "sql_mode=PAD_CHAR_TO_FULL_LENGTH", session: set("SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'")},
		{name: "sql_mode=NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO", session: set("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO'")},
		{name: "sql_mode=ORACLE", session: set("SET sql_mode = 'ORACLE'"), only: "mariadb"},
		{fast: true, name: "sql_mode=EMPTY_STRING_IS_NULL", session: set("SET sql_mode = 'EMPTY_STRING_IS_NULL'"), only: "mariadb", want: worksOrRefused, names: "EMPTY_STRING_IS_NULL"},
		{fast: true, name: "sql_mode=SIMULTANEOUS_ASSIGNMENT", session: set("SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'"), only: "mariadb", want: worksOrRefused, names: "SIMULTANEOUS_ASSIGNMENT"},
		{name: "sql_safe_updates=1", session: set("SET sql_safe_updates = 1")},
		{fast: true, name: "interpolateParams and NO_BACKSLASH_ESCAPES", session: session{dsn: "interpolateParams=true", init: []string{"SET sql_mode = 'NO_BACKSLASH_ESCAPES'"}}},
		{fast: true, name: "clientFoundRows and autocommit=0", session: session{dsn: "clientFoundRows=true", init: []string{"SET autocommit = 0"}}},
		{fast: true, name: "sql_select_limit=1", session: set("SET sql_select_limit = 1")},
		{name: "sql_select_limit=2", session: set("SET sql_select_limit = 2")},
		{name: "innodb_lock_wait_timeout=1", session: set("SET innodb_lock_wait_timeout = 1")},
		{name: "another time_zone for each connection", session: session{each: []string{"SET time_zone = '-12:00'", "SET time_zone = '+00:00'", "SET time_zone = '+05:30'"}}},
		{name: "latin1 and utf8mb4", session: set("SET NAMES latin1"), ofB: &session{}, want: worksOrRefused, names: "character"},
		{fast: true, name: "latin1 and utf8mb4, namespace beyond ASCII", session: set("SET NAMES latin1"), ofB: &session{}, space: "größe", want: worksOrRefused, names: "character"},
		{name: "another character set for each connection", session: session{each: []string{"SET NAMES latin1", "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET NAMES utf8mb4 COLLATE utf8mb4_bin"}}, want: worksOrRefused, names: "character"},
		{fast: true, name: "another autocommit for each connection", session: session{each: []string{"SET autocommit = 0", "SET autocommit = 1"}}},
	}...)
	return selected(rows)
}
