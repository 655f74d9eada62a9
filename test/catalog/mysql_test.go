package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

func TestMySQLKeys(t *testing.T) {
	t.Parallel()
	conn := dbtest.MySQL(t).Connect(t)
	dbtest.Exec(t, conn,
		"CREATE TABLE tiny (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE medium (id MEDIUMINT AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE signed (id INT AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE `unsigned` (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE filled (id INT(11) UNSIGNED ZEROFILL AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE big (id BIGINT AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE biggest (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE composite (tenant INT, id BIGINT AUTO_INCREMENT, PRIMARY KEY (tenant, id), KEY (id))",
		"CREATE TABLE near (id TINYINT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 120",
		"CREATE TABLE jumped (id BIGINT AUTO_INCREMENT PRIMARY KEY)",
		"INSERT INTO jumped VALUES (9007199254740993)",
		"CREATE TABLE partitioned (id BIGINT AUTO_INCREMENT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4",
		"CREATE TABLE plain (id BIGINT PRIMARY KEY)",
	)
	report := catalogtest.Inspect(t, conn, catalog.Options{})
	const counts = "blocker:still-counts"
	for _, want := range []struct{ table, counter, findings string }{
		{"tiny", "1 255", "blocker:narrow-key " + counts},
		{"medium", "1 8388607", "blocker:narrow-key " + counts},
		{"signed", "1 2147483647", "blocker:narrow-key " + counts},
		{"unsigned", "1 4294967295", "blocker:narrow-key " + counts},
		{"filled", "1 4294967295", "blocker:narrow-key " + counts},
		{"big", "1 9223372036854775807", counts},
		{"biggest", "1 18446744073709551615", counts},
		{"composite", "1 9223372036854775807", counts + " note:not-primary"},
		{"near", "120 127", "blocker:narrow-key " + counts + " warning:near-end"},
		{"jumped", "9007199254740994 9223372036854775807", counts + " warning:jumped"},
		{"partitioned", "1 9223372036854775807", counts + " warning:partitioned"},
	} {
		k := catalogtest.Key(t, report, want.table)
		if k.Counter.Next == "" {
			t.Errorf("%s: no counter", want.table)
			continue
		}
		require(t, want.table, k.Counter.Next+" "+k.Counter.End, want.counter)
		requireKinds(t, k, strings.Fields(want.findings)...)
	}
	if len(report.Keys) != 11 {
		t.Errorf("%d keys", len(report.Keys))
	}
	require(t, "primary key", strings.Join(catalogtest.Key(t, report, "composite").PrimaryKey, " "), "tenant id")
}

// A counter must have its current value, not the one from when statistics were last
// collected.
func TestMySQLCounterIsFresh(t *testing.T) {
	t.Parallel()
	conn := dbtest.MySQL(t).Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)", "ANALYZE TABLE t",
		"DO (SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 't')",
		"INSERT INTO t VALUES (41)")
	require(t, "next", catalogtest.Key(t, catalogtest.Inspect(t, conn, catalog.Options{}), "t").Counter.Next, "42")
}

func TestMySQLUses(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	conn := db.Connect(t)
	database := dbtest.Rows(t, conn, "SELECT DATABASE()")[0]
	other := database + "_other"
	dbtest.Exec(t, conn, "CREATE DATABASE "+other)
	t.Cleanup(func() { dbtest.Exec(t, conn, "DROP DATABASE "+other) })
	dbtest.Exec(t, conn,
		"CREATE TABLE users (Id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20))",
		"CREATE TABLE posts (id BIGINT AUTO_INCREMENT PRIMARY KEY, user_id INT, CONSTRAINT by_user FOREIGN KEY (USER_ID) REFERENCES users (ID))",
		"CREATE TABLE "+other+".flags (user_id INT PRIMARY KEY, FOREIGN KEY (user_id) REFERENCES "+database+".users (id))",
		"CREATE TABLE "+other+".marks (flag INT, FOREIGN KEY (flag) REFERENCES flags (user_id))",
		"CREATE TABLE "+other+".keys_of_others (id INT AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TRIGGER stamp BEFORE INSERT ON users FOR EACH ROW SET NEW.name = UPPER(NEW.name)",
	)
	report := catalogtest.Inspect(t, conn, catalog.Options{})
	// The whole server is read, so there may be findings about the databases of other tests.
	findings := slices.DeleteFunc(report.Findings, func(f catalog.Finding) bool { return !strings.Contains(f.Text, database) })
	if len(report.Keys) != 2 || len(findings) != 0 {
		t.Errorf("%d keys and %+v", len(report.Keys), findings)
	}
	k := catalogtest.Key(t, report, "users")
	require(t, "children", children(k), "flags.user_id marks.flag posts.user_id")
	if len(k.Triggers) != 1 || k.Triggers[0].Name != "stamp" || k.Triggers[0].When != "BEFORE INSERT" {
		t.Errorf("the triggers are %+v", k.Triggers)
	}
	requireKinds(t, k, "blocker:narrow-key", "blocker:narrow-child", "blocker:still-counts")
	if others := catalogtest.Inspect(t, conn, catalog.Options{Schemas: []string{other}}); len(others.Keys) != 1 {
		t.Errorf("%d keys of the other database", len(others.Keys))
	}
}

// MariaDB allows you to create a child before its parent, and doesn't compare them in
// that case.
func TestMariaDBSignMismatch(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	if !db.MariaDB {
		t.Skip("MySQL refuses to make such tables")
	}
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1)
	dbtest.Exec(t, conn, "SET foreign_key_checks = 0",
		"CREATE TABLE child (id INT PRIMARY KEY, parent_id BIGINT, FOREIGN KEY (parent_id) REFERENCES parent (id))",
		"CREATE TABLE parent (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)")
	requireKinds(t, catalogtest.Key(t, catalogtest.Inspect(t, conn, catalog.Options{}), "parent"), "blocker:still-counts", "warning:sign-mismatch")
}

func TestMariaDBSequence(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	if !db.MariaDB {
		t.Skip("MySQL has no sequences")
	}
	conn := db.Connect(t)
	dbtest.Exec(t, conn,
		"CREATE SEQUENCE `s``(1)` NOCACHE",
		"CREATE TABLE a (id BIGINT DEFAULT nextval(`s``(1)`) PRIMARY KEY)",
		"CREATE TABLE b (id INT DEFAULT (nextval(`s``(1)`) * 2) PRIMARY KEY)",
		"INSERT INTO a VALUES ()", "INSERT INTO a VALUES ()",
	)
	report := catalogtest.Inspect(t, conn, catalog.Options{})
	k := catalogtest.Key(t, report, "a")
	require(t, "sequence", k.Counter.Sequence.Name, "s`(1)")
	require(t, "next", k.Counter.Next, "3")
	requireKinds(t, k, "note:still-counts", "warning:shared-sequence")
	requireKinds(t, catalogtest.Key(t, report, "b"), "blocker:narrow-key", "note:still-counts", "warning:shared-sequence")

	dbtest.Exec(t, conn, "DROP SEQUENCE `s``(1)`")
	elsewhere := catalogtest.Inspect(t, dbtest.MySQL(t).Connect(t), catalog.Options{})
	require(t, "findings in another database", catalogtest.Kinds(elsewhere.Findings), "")
}

// An account can only see what it was granted, and the report must mention that. Models are
// compared without such findings.
func TestMySQLPrivileges(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t)
	conn := db.Connect(t)
	database := dbtest.Rows(t, conn, "SELECT DATABASE()")[0]
	account := strings.Replace(database, "snowkey_", "acc_", 1)
	dbtest.Exec(t, conn, "CREATE TABLE users (id BIGINT AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE t (id BIGINT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)",
		"CREATE USER "+account+"@'%' IDENTIFIED BY 'x'",
		"GRANT SELECT ON "+database+".* TO "+account+"@'%'")
	t.Cleanup(func() { dbtest.Exec(t, conn, "DROP USER "+account+"@'%'") })
	app := catalogtest.As(t, db, account, "x").Connect(t)
	dbtest.NoError(t, catalog.Compare(t.Context(), app, []catalog.Field{column("t.id")}))
	e := catalogtest.Differences(t, catalog.Compare(t.Context(), app, []catalog.Field{column("u.id")}))
	require(t, "what a model differs in", catalogtest.Kinds(e.Findings), "blocker:narrow-key")
	limited := catalogtest.Inspect(t, app, catalog.Options{})
	catalogtest.Key(t, limited, "users")
	if catalogtest.Kinds(limited.Findings) != "warning:unseen" || !strings.Contains(limited.Findings[0].Text, "SELECT, TRIGGER on *.*") {
		t.Errorf("the findings are %+v", limited.Findings)
	}
	dbtest.Exec(t, conn, "GRANT SELECT, TRIGGER ON *.* TO "+account+"@'%'")
	if all := catalogtest.Inspect(t, catalogtest.As(t, db, account, "x").Connect(t), catalog.Options{}); slices.ContainsFunc(all.Findings, func(f catalog.Finding) bool { return strings.Contains(f.Text, "SELECT, TRIGGER") }) {
		t.Errorf("with the privileges asked for: %+v", all.Findings)
	}
}
