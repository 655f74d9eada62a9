package autoinc_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// undeclared returns statements that create tables without foreign keys, as PowerDNS,
// Sakila and Rails do.
func undeclared(db dbtest.DB) []string {
	key := map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}[db.Dialect]
	return []string{
		"CREATE TABLE domains (id " + key + ", name varchar(20))",
		"CREATE TABLE records (id " + key + ", domain_id int, secondary_domain_id int, ttl int, batch_id int)",
		"CREATE TABLE categories (category_id " + key + ", parent_category_id int, name varchar(20))",
		"CREATE TABLE stations (id " + key + ", category_id bigint, domain_id smallint)",
		"INSERT INTO domains (name) VALUES ('a'), ('b'), ('c')",
		"INSERT INTO records (domain_id, secondary_domain_id, ttl, batch_id) VALUES (1, 0, 3600, 1), (2, 3, 3600, 2), (2, NULL, 60, 1)",
		"INSERT INTO categories (name) VALUES ('a'), ('b')",
		"INSERT INTO stations (category_id, domain_id) VALUES (1, 900), (2, 901), (1, 3)",
	}
}

// Columns may hold a key even though they have no foreign key. There must not be a plan
// until the caller has made a decision about each.
func TestUndeclaredChildren(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		conn := db.Connect(t)
		dbtest.Exec(t, conn, undeclared(db)...)
		narrow := db.Dialect != "sqlite" // where every integer has 64 bits
		_, err := autoinc.NewPlan(t.Context(), conn, options)
		if narrow && (!errors.Is(err, autoinc.ErrRefused) || strings.Count(err.Error(), "--not-child ") != 5) {
			t.Fatalf("undecided: %v", err)
		}
		at := func(table, column string) catalog.Column {
			return catalog.Column{Table: catalog.Name{Name: table}, Name: column}
		}
		options.NotChildren = []catalog.Column{at("records", "secondary_domain_id"), at("records", "batch_id"), at("stations", "domain_id"), at("records", "no_such")}
		if _, err = autoinc.NewPlan(t.Context(), conn, options); !errors.Is(err, catalog.ErrColumn) || !strings.Contains(err.Error(), "no_such") {
			t.Errorf("a column that does not exist: %v", err)
		}
		options.NotChildren = options.NotChildren[:3]
		options.Children = []catalog.ForeignKey{
			{Child: at("records", "domain_id"), Parent: at("domains", "id")},
			{Child: at("categories", "parent_category_id"), Parent: at("categories", "category_id")},
		}
		likely := options
		likely.Children, likely.LikelyChildren = nil, true
		if a, b := planText(t, plan(t, conn, options)), planText(t, plan(t, conn, likely)); narrow {
			sizes := regexp.MustCompile("(?m)^-- (sum|size|speed|\\|).*\n") // which may change any time
			require(t, "the plan with all likely children", sizes.ReplaceAllString(b, ""), sizes.ReplaceAllString(a, ""))
		}
		p := plan(t, conn, options)
		applyAll(t, conn, p, autoinc.ApplyOptions{})
		prove(t, conn, p)
		if got := verdicts(t, verify(t, conn, p)); !strings.Contains(got, "domain_id") {
			t.Errorf("nothing is proven of domain_id:\n%s", got)
		}
		dbtest.Exec(t, conn, "INSERT INTO domains (id, name) VALUES (7350000000000000001, 'x'), (7350000000000000002, 'y')",
			"INSERT INTO records (id, domain_id) VALUES (7350000000000000003, 7350000000000000002)",
			"INSERT INTO categories (category_id, parent_category_id) VALUES (7350000000000000004, 7350000000000000005)")
		requireNumber(t, conn, 1, "SELECT COUNT(*) FROM records r JOIN domains d ON d.id = r.domain_id WHERE d.name = 'y'")
		for _, k := range catalogtest.Inspect(t, conn, catalog.Options{}).Keys {
			t.Errorf("it still counts: %v", k.Column)
		}
	})
}

// As in Rails and Laravel, a polymorphic column holds keys of several tables, and
// another column says which. It is widened along with any key of the plan.
func TestPolymorphicChildren(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "sqlite" {
			t.Skip("every integer of SQLite has 64 bits")
		}
		conn := db.Connect(t)
		id := map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY"}[db.Dialect]
		options.Online = db.Dialect == "postgres" // MySQL copies no table without a key
		dbtest.Exec(t, conn,
			"CREATE TABLE users (id "+id+")", "CREATE TABLE build_jobs (id "+id+")", "CREATE TABLE a_first (id "+id+")",
			"CREATE TABLE items (owner_id int, owner_type varchar(40), thing_id int, thing_type char(1))",
			"INSERT INTO users (id) VALUES (1), (2)", "INSERT INTO items VALUES (1, 'User', 7, 'T'), (1, 'BuildJob', 8, 'A')")
		owner := catalog.Column{Table: catalog.Name{Name: "items"}, Name: "owner_id"}
		for _, k := range catalogtest.Inspect(t, conn, catalog.Options{}).Keys {
			if k.Column.Table.Name != "a_first" { // the first key of the schema is not in the plan
				options.Tables = append(options.Tables, k.Column.Table)
			}
		}
		if _, err := autoinc.NewPlan(t.Context(), conn, options); !errors.Is(err, autoinc.ErrRefused) || strings.Count(err.Error(), "--not-child ") != 2 {
			t.Fatalf("undecided: %v", err)
		}
		options.Children = []catalog.ForeignKey{{Child: owner}}
		options.NotChildren = []catalog.Column{{Table: owner.Table, Name: "thing_id"}}
		p := plan(t, conn, options)
		applyAll(t, conn, p, autoinc.ApplyOptions{})
		prove(t, conn, p)
		dbtest.Exec(t, conn, "INSERT INTO build_jobs (id) VALUES (7350000000000000001), (7350000000000000002)",
			"INSERT INTO items (owner_id, owner_type) VALUES (7350000000000000002, 'BuildJob')")
		requireNumber(t, conn, 1, "SELECT COUNT(*) FROM items i JOIN build_jobs j ON j.id = i.owner_id")
	})
}

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
			options.Online = false // which would lose the trigger
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
