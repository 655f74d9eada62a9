package autoinc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// Functions, procedures and triggers with narrow integers must be reported. An example
// is Sakila, where inventory_in_stock(integer) is no longer found when called with a
// bigint.
func TestNarrowRoutines(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "sqlite" {
			t.Skip("every integer of SQLite has 64 bits")
		}
		conn := db.Connect(t)
		tables := map[string][]string{
			"postgres": {
				"CREATE TABLE inventory (id serial PRIMARY KEY)",
				"CREATE FUNCTION in_stock(p_id integer) RETURNS bool LANGUAGE sql AS 'SELECT EXISTS (SELECT FROM inventory WHERE id = p_id)'",
				"CREATE FUNCTION film_in_stock() RETURNS SETOF bigint LANGUAGE sql AS 'SELECT id FROM inventory WHERE in_stock(id::int)'",
				"CREATE FUNCTION roomy(p_id bigint) RETURNS bool LANGUAGE sql AS 'SELECT EXISTS (SELECT FROM inventory WHERE id = p_id)'",
				"CREATE FUNCTION elsewhere(n int) RETURNS int LANGUAGE sql AS 'SELECT n + inventory_size FROM (VALUES (1)) AS x (inventory_size)'",
				"CREATE PROCEDURE forget() LANGUAGE plpgsql AS 'DECLARE n int; BEGIN SELECT id INTO n FROM INVENTORY; END'",
			},
			"mysql": {
				"CREATE TABLE inventory (id INT AUTO_INCREMENT PRIMARY KEY)",
				"CREATE FUNCTION in_stock(p_id INT) RETURNS BOOLEAN READS SQL DATA RETURN EXISTS (SELECT 1 FROM inventory WHERE id = p_id)",
				"CREATE FUNCTION film_in_stock() RETURNS BIGINT READS SQL DATA BEGIN DECLARE n MEDIUMINT; SELECT id INTO n FROM inventory LIMIT 1; RETURN n; END",
				"CREATE FUNCTION roomy(p_id BIGINT) RETURNS BOOLEAN READS SQL DATA RETURN EXISTS (SELECT 1 FROM inventory WHERE id = p_id)",
				"CREATE FUNCTION elsewhere(n INT) RETURNS INT DETERMINISTIC RETURN n + 1",
				"CREATE FUNCTION literal() RETURNS VARCHAR(40) READS SQL DATA BEGIN DECLARE n INT; SELECT id INTO n FROM inventory LIMIT 0; RETURN 'an int, it\\'s'; END",
				"CREATE FUNCTION whole(p_id BIGINT) RETURNS BOOLEAN READS SQL DATA RETURN EXISTS (SELECT 1 FROM inventory WHERE id = CAST(p_id AS SIGNED INTEGER))",
				"CREATE TRIGGER forget BEFORE UPDATE ON inventory FOR EACH ROW BEGIN DECLARE n INT; SET n = NEW.id; END",
			},
		}[db.Dialect]
		dbtest.Exec(t, conn, tables...)
		if db.Dialect == "mysql" {
			var schema string
			dbtest.NoError(t, conn.QueryRow("SELECT DATABASE()").Scan(&schema))
			dbtest.Exec(t, dbtest.MySQL(t).Connect(t),
				"CREATE FUNCTION theirs(n INT) RETURNS INT READS SQL DATA RETURN n + (SELECT count(*) FROM inventory)",
				"CREATE FUNCTION ours(n INT) RETURNS INT READS SQL DATA RETURN n + (SELECT count(*) FROM "+schema+".inventory)")
		}
		if db.Dialect == "postgres" {
			dbtest.Exec(t, conn, "REVOKE ALL ON FUNCTION in_stock FROM PUBLIC", "GRANT EXECUTE ON FUNCTION in_stock TO pg_monitor WITH GRANT OPTION",
				"COMMENT ON FUNCTION in_stock IS 'what''s integer here'")
		}
		var found, definitions []string
		for _, f := range catalogtest.Inspect(t, conn, catalog.Options{}).Keys[0].Findings {
			if f.Kind == catalog.NarrowRoutine {
				found = append(found, f.Text)
				definitions = append(definitions, f.Definition)
			}
		}
		p := plan(t, conn, options)
		notes := strings.Join(p.Phases[0].Notes, "\n")
		applyAll(t, conn, p, autoinc.ApplyOptions{})
		v := verify(t, conn, p)
		for what, text := range map[string]string{"inspect": strings.Join(found, "\n"), "the plan": notes, "verify": verdicts(t, v)} {
			for name, narrow := range map[string]bool{"in_stock(": true, "film_in_stock": true, "forget": true, "roomy": false, "whole": false, "elsewhere": false,
				".theirs": false, ".ours": db.Dialect == "mysql"} {
				if db.Dialect == "mysql" {
					name = strings.ReplaceAll(name, "in_stock(", ".in_stock")
				}
				if strings.Contains(text, name) != narrow {
					t.Errorf("%s: %s reported is %t in\n%s", what, name, !narrow, text)
				}
			}
		}
		if v.Err() != nil {
			t.Error(v.Err())
		}

		// Run the definitions exactly as they are printed. After that, the routines
		// must accept wide keys.
		one, err := conn.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		for _, statement := range statements(db.Dialect, strings.Join(definitions, "")) {
			if _, err := one.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s\n%v", statement, err)
			}
		}
		var here, there, literal int
		dbtest.Exec(t, conn, "INSERT INTO inventory (id) VALUES (7350000000000000001)")
		for n, want := range map[int64]int{7350000000000000001: 1, 7350000000000000002: 0} {
			query := fmt.Sprintf("SELECT (SELECT COUNT(*) FROM inventory WHERE in_stock(%d) AND id = %[1]d)", n)
			if err := one.QueryRowContext(t.Context(), query).Scan(&here); err != nil || here != want {
				t.Errorf("in_stock(%d): %d: %v", n, here, err)
			}
		}
		if db.Dialect == "mysql" {
			dbtest.Exec(t, conn, "UPDATE inventory SET id = 7350000000000000003 WHERE id = 7350000000000000001")
			err = one.QueryRowContext(t.Context(), "SELECT film_in_stock() = 7350000000000000003, CAST(literal() AS BINARY) = 'an int, it''s'").Scan(&there, &literal)
		} else {
			dbtest.Exec(t, conn, "CALL forget()")
			err = one.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM film_in_stock()), (SELECT COUNT(*) FROM pg_proc
				WHERE oid = 'in_stock(bigint)'::regprocedure AND proacl::text LIKE '%pg_monitor=X*/%' AND proacl::text NOT LIKE '{=%' AND obj_description(oid, 'pg_proc') = 'what''s integer here')`).Scan(&there, &literal)
		}
		if err != nil || there != 1 || literal != 1 {
			t.Errorf("film_in_stock is %d, and the second %d: %v", there, literal, err)
		}
		// Only the string is left, since it may be dynamic SQL.
		for line := range strings.Lines(verdicts(t, verify(t, conn, p))) {
			if strings.Contains(line, "of fewer than 64 bits") && !strings.Contains(line, ".literal:") {
				t.Errorf("still narrow: %s", line)
			}
		}
	})
}
