package autoinc_test

import (
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
				"CREATE FUNCTION whole(p_id BIGINT) RETURNS BOOLEAN READS SQL DATA RETURN EXISTS (SELECT 1 FROM inventory WHERE id = CAST(p_id AS SIGNED INTEGER))",
				"CREATE TRIGGER forget BEFORE UPDATE ON inventory FOR EACH ROW BEGIN DECLARE n INT; SET n = NEW.id; END",
			},
		}[db.Dialect]
		dbtest.Exec(t, conn, tables...)
		if db.Dialect == "mysql" {
			schema := dbtest.Rows(t, conn, "SELECT DATABASE()")[0]
			dbtest.Exec(t, dbtest.MySQL(t).Connect(t),
				"CREATE FUNCTION theirs(n INT) RETURNS INT READS SQL DATA RETURN n + (SELECT count(*) FROM inventory)",
				"CREATE FUNCTION ours(n INT) RETURNS INT READS SQL DATA RETURN n + (SELECT count(*) FROM "+schema+".inventory)")
		}
		var found []string
		for _, f := range catalogtest.Inspect(t, conn, catalog.Options{}).Keys[0].Findings {
			if f.Kind == catalog.NarrowRoutine {
				found = append(found, f.Text)
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
	})
}
