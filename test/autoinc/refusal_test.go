package autoinc_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// Everything that can't be planned correctly must be refused with the right reason, and
// nothing else may be.
func TestRefusals(t *testing.T) {
	t.Parallel()
	type refusal struct {
		what, sql, reason string
		online            bool
	}
	const parent = "CREATE TABLE parent (id serial PRIMARY KEY); "
	all := map[string][]refusal{
		"postgres": {
			{"two for one reason", "CREATE TABLE t (a int, id serial, PRIMARY KEY (a, id)); CREATE TABLE u (a int, id serial, PRIMARY KEY (a, id))", `for 1 reason` + "\n" + `"public"."t"."id", "public"."u"."id": it is not the whole primary key`, false},
			{"downwards", "CREATE SEQUENCE s INCREMENT -1; CREATE TABLE t (id bigint PRIMARY KEY DEFAULT nextval('s'))", "counts downwards", false},
			{"jumped", "CREATE TABLE t (id bigserial PRIMARY KEY); SELECT setval('t_id_seq', 7350000000000000001)", "beyond the floor", false},
			{"domain", "CREATE SEQUENCE s; CREATE DOMAIN key AS bigint DEFAULT nextval('s'); CREATE TABLE t (id key PRIMARY KEY)", "that of its domain", false},
			{"text", "CREATE SEQUENCE s; CREATE TABLE t (id text PRIMARY KEY DEFAULT nextval('s'))", "not a number", false},
			{"shared", "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY); CREATE TABLE u (a int, n bigint DEFAULT nextval('t_id_seq'), PRIMARY KEY (a, n))", "which DROP IDENTITY drops", false},
			{"view's function", parent + "CREATE VIEW v AS SELECT id FROM parent; CREATE FUNCTION f() RETURNS SETOF v LANGUAGE sql AS 'SELECT * FROM public.v'", "what uses it", false},
			{"policy", parent + "CREATE POLICY p ON parent USING (id > 0)", "policy p on table", false},
			{"generated", parent + "ALTER TABLE parent ADD twice int GENERATED ALWAYS AS (id * 2) STORED", "column twice of table", false},
			{"domain's child", parent + "CREATE DOMAIN key AS int; CREATE TABLE t (p key REFERENCES parent)", "only integer and smallint are widened", false},
			{"exclusion", parent + "ALTER TABLE parent ADD EXCLUDE (id WITH =)", "it excludes rows", true},
			{"index of a function", parent + "CREATE FUNCTION half(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 2'; CREATE INDEX i ON parent (half(id))", "function public.half(bigint) does not exist", false},
			{"trigger that always fires", parent + "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW;END'; CREATE TRIGGER g BEFORE UPDATE ON parent FOR EACH ROW EXECUTE FUNCTION f(); ALTER TABLE parent ENABLE ALWAYS TRIGGER g", "would fire for every row", true},
			{"some columns", parent + "ALTER TABLE parent ADD a int; ALTER TABLE parent ADD UNIQUE (a, id); CREATE TABLE t (a int, p int, FOREIGN KEY (a, p) REFERENCES parent (a, id) ON DELETE SET NULL (p))", "?some of its columns only", true},
			{"partitions", "CREATE TABLE t (id serial PRIMARY KEY) PARTITION BY RANGE (id)", "the table public.t is partitioned by it", false},
			{"heirs", parent + "CREATE TABLE heir () INHERITS (parent)", "its table inherits from another, or has heirs", true},
			{"stricter partition", parent + "CREATE TABLE t (day int, p int REFERENCES parent) PARTITION BY RANGE (day); CREATE TABLE u (p int NOT NULL, day int); ALTER TABLE t ATTACH PARTITION u DEFAULT", "the partition public.u takes no nulls in it, but its table does", true},
			{"foreign partition", parent + "CREATE TABLE t (day int, p int) PARTITION BY RANGE (day); CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE u PARTITION OF t DEFAULT SERVER s; CREATE TABLE v PARTITION OF t FOR VALUES FROM (0) TO (1); ALTER TABLE v ADD FOREIGN KEY (p) REFERENCES parent", "its partition public.u is a foreign table", true},
			{"partition's policy", parent + "CREATE TABLE t (day int, p int REFERENCES parent) PARTITION BY RANGE (day); CREATE TABLE u PARTITION OF t DEFAULT; CREATE POLICY y ON u USING (p > 0)", "policy y on table", false},
			{"partition's trigger", parent + "CREATE TABLE t (day int, p int REFERENCES parent) PARTITION BY RANGE (day); CREATE TABLE u PARTITION OF t DEFAULT; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW;END'; CREATE TRIGGER g BEFORE UPDATE ON u FOR EACH ROW EXECUTE FUNCTION f(); ALTER TABLE u ENABLE ALWAYS TRIGGER g", "would fire for every row", true},
			{"partition's publication", parent + "CREATE TABLE t (day int, p int REFERENCES parent) PARTITION BY RANGE (day); CREATE TABLE u PARTITION OF t DEFAULT; CREATE PUBLICATION q FOR TABLE u", "the publication q sends its table", true},
			{"partition's identity", "CREATE TABLE t (day int, id serial, PRIMARY KEY (day, id)) PARTITION BY RANGE (day); CREATE TABLE u (day int NOT NULL, id int GENERATED ALWAYS AS IDENTITY); ALTER TABLE t ATTACH PARTITION u DEFAULT", "?it is the identity of one partition", true},
			{"row type", parent + "CREATE TABLE audit (old parent)", "the column old of public.audit has rows of its table", false},
			{"rows within", parent + "CREATE TYPE twice AS (a parent[], b int); CREATE DOMAIN d AS twice; CREATE TABLE audit (old d)", "the column old of public.audit has rows of its table", false},
			{"view's int", parent + "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'; CREATE VIEW v AS SELECT f(id) FROM parent", "calls public.f(integer), and there is no f for bigint", false},
			{"publication", parent + "CREATE PUBLICATION p FOR TABLE parent", "the publication p sends its table", true},
			{"check", parent + "ALTER TABLE parent ADD CHECK (id < 2147483648)", "ends where narrower integers do", false},
			{"operator class", parent + "CREATE INDEX ON parent USING brin (id int4_bloom_ops)", "uses int4_bloom_ops, which is not for bigint", false},
			{"array", parent + "CREATE TABLE t (parent_ids int[])", "make it bigint[] if it is an array", false},
			{"unique", "CREATE TABLE t (a uuid PRIMARY KEY, id serial UNIQUE)", "it is unique, but not the primary key", false},
			{"not unique", "CREATE TABLE t (a uuid PRIMARY KEY, id serial)", "it is not the primary key", false},
		},
		"mysql": {
			{"composite", "CREATE TABLE t (a INT, id INT AUTO_INCREMENT, PRIMARY KEY (a, id), KEY (id))", "--composite", false},
			{"system-versioned", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) WITH SYSTEM VERSIONING", "?is system-versioned", false},
			{"system-versioned child", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY); CREATE TABLE c (p INT, FOREIGN KEY (p) REFERENCES t (id)) WITH SYSTEM VERSIONING", "?`c`.`p`: its table", false},
			{"jumped", "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY); INSERT INTO t VALUES (7350000000000000001)", "beyond the floor", false},
			{"invisible", "CREATE TABLE t (id INT AUTO_INCREMENT INVISIBLE PRIMARY KEY, a INT)", "it is invisible", false},
			{"zerofill", "CREATE TABLE t (id INT ZEROFILL AUTO_INCREMENT PRIMARY KEY)", "only plain integers are widened", false},
			{"sign", "CREATE TABLE t (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY); CREATE TABLE u (t INT, KEY (t)); SET foreign_key_checks = 0; ALTER TABLE u ADD FOREIGN KEY (t) REFERENCES t (id); SET foreign_key_checks = 1", "?give both the same sign", false},
			{"engine", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=MyISAM", "kept by MyISAM", false},
			{"check", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY); CREATE TABLE u (t INT, FOREIGN KEY (t) REFERENCES t (id), CHECK (t < 2147483648))", "ends where narrower integers do", false},
			{"computed from a child", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY); CREATE TABLE u (t INT, half INT AS (t) STORED, FOREIGN KEY (t) REFERENCES t (id))", "the server computes it from `t`", false},
			{"unique", "CREATE TABLE t (a CHAR(36) PRIMARY KEY, id INT AUTO_INCREMENT UNIQUE)", "it is unique, but not the primary key", false},
			{"trigger of a copy", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.id = NEW.id", "would not have its trigger `g`", true},
			{"foreign key of a copy", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE); CREATE TABLE u (a INT PRIMARY KEY, FOREIGN KEY f (a) REFERENCES t (a))", "would not have the foreign key", true},
			{"text as the key of a copy", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY); CREATE TABLE u (a VARCHAR(9) PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id))", "no primary key that begins with an integer", true},
			{"beginning of a column", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY); CREATE TABLE u (t INT, a VARCHAR(9), PRIMARY KEY (t, a(3)), FOREIGN KEY (t) REFERENCES t (id))", "no primary key that begins with an integer", true},
			{"check of a copy", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT CHECK (a > 0))", "?gives the checks of a copy", true},
			{"two for one reason", "CREATE TABLE t (a INT, id INT AUTO_INCREMENT, PRIMARY KEY (a, id), KEY (id)); CREATE TABLE u (a INT, id INT AUTO_INCREMENT, PRIMARY KEY (a, id), KEY (id))", "for 1 reason\n", false},
		},
		"sqlite": {
			{"jumped", "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (7350000000000000001)", "beyond the floor", false},
			{"orphans", "PRAGMA foreign_keys = OFF; CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE u (t REFERENCES t); INSERT INTO u VALUES (7)", "references a row", false},
			{"rowid", "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT oid FROM t", "uses the rowid", false},
			{"search", "CREATE TABLE t (id INTEGER PRIMARY KEY, a); CREATE VIRTUAL TABLE s USING fts5(a, content='t')", "the search index \"s\" finds rows by the rowid", false},
			{"real", "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE u (t REAL REFERENCES t)", "floating-point", false},
			{"control", "CREATE TABLE \"t\n-- end: drop/1\" (id INTEGER PRIMARY KEY)", "line end", false},
		},
	}
	each(t, func(t *testing.T, db dbtest.DB) {
		shared := db.Connect(t)
		shared.SetMaxOpenConns(1)
		for _, tc := range all[db.Dialect] {
			t.Run(tc.what, func(t *testing.T) {
				reason, optional := strings.CutPrefix(tc.reason, "?") // not every server allows the schema
				conn := shared
				if db.Dialect == "postgres" { // a new session would have to plan all queries
					dbtest.Exec(t, conn, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
				} else {
					conn = open(t, db.Dialect).Connect(t)
					conn.SetMaxOpenConns(1)
				}
				for statement := range strings.SplitSeq(tc.sql, "; ") {
					if _, err := conn.Exec(statement); err != nil && optional {
						return
					} else if err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				options := autoinc.PlanOptions{Online: tc.online}
				if tc.what == "shared" {
					options.Except = []catalog.Name{{Schema: "public", Name: "u"}}
				}
				_, err := autoinc.NewPlan(t.Context(), conn, options)
				if err == nil && tc.online && db.Dialect == "mysql" {
					version := dbtest.Rows(t, conn, "SELECT VERSION()")[0]
					if optional || strings.Contains(version, "MariaDB") && version > "11.2" {
						return // MariaDB keeps the names of checks, and later versions copy tables online
					}
				}
				if !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\x1b") {
					t.Fatalf("got %v, want %q", err, reason)
				}
				for i, line := range strings.Split(err.Error(), "\n") {
					if remedy := i > 0 && i%2 == 0; remedy && (!strings.HasPrefix(line, "  → ") || line == "  → ") {
						t.Errorf("no remedy: %q", err)
					}
				}
				if tc.online {
					plan(t, conn, autoinc.PlanOptions{Composite: true}) // the other way must still be possible
				}
			})
		}
	})
}

func TestSQLiteAttachedRefused(t *testing.T) {
	t.Parallel()
	conn := dbtest.SQLite(t).Connect(t)
	conn.SetMaxOpenConns(1)
	dbtest.Exec(t, conn, "ATTACH '"+filepath.Join(t.TempDir(), "more.db")+"' AS other", "CREATE TABLE other.t (id INTEGER PRIMARY KEY)", "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	if _, err := autoinc.NewPlan(t.Context(), conn, autoinc.PlanOptions{}); err == nil || !strings.Contains(err.Error(), "attached") {
		t.Errorf("got %v", err)
	}
	plan(t, conn, autoinc.PlanOptions{Except: []catalog.Name{{Schema: "other", Name: "t"}}})
}

// withoutKeys returns the text of a plan without the lines of its keys, and with the right
// sum.
func withoutKeys(file string) string {
	title, rest, _ := strings.Cut(file, "\n")
	_, body, _ := strings.Cut(rest, "\n")
	body = regexp.MustCompile(`(?m)^-- key: .*\n`).ReplaceAllString(body, "")
	return fmt.Sprintf("%s\n-- sum: %x\n%s", title, sha256.Sum256([]byte(body)), body)
}

// A plan is only valid for the database that it was made for, and only as long as that
// doesn't change.
func TestStalePlans(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		s := newShop(t, db)
		p := plan(t, s.conn, autoinc.PlanOptions{})
		lines := number(t, s.conn, "SELECT count(*) FROM line")
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, autoinc.ErrPlan) {
				t.Errorf("%s: %v", what, err)
			}
		}
		apply := func(s shop, p *autoinc.Plan, phase autoinc.PhaseName) error {
			_, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{Phase: phase})
			return err
		}
		empty := shop{DB: open(t, db.Dialect)}
		empty.conn = empty.Connect(t)
		refused("an empty database", apply(empty, p, ""))
		if db.Dialect != "sqlite" { // SQLite files can have the same name
			refused("another database", apply(newShop(t, open(t, db.Dialect)), p, ""))
		}
		planned := []int{0, 4, 5} // the others can be without steps
		for i, edit := range []func(s *autoinc.Step){
			func(s *autoinc.Step) { s.SQL = "DELETE FROM line" },
			func(s *autoinc.Step) { s.Undo = append(s.Undo, "DELETE FROM line") },
			func(s *autoinc.Step) { s.Before = append(s.Before, "DELETE FROM line") },
			func(s *autoinc.Step) { s.After = append(s.After, "DELETE FROM line") },
			func(s *autoinc.Step) { s.Done = "DELETE FROM line" },
			func(s *autoinc.Step) { s.Retry = "DELETE FROM line" },
			func(s *autoinc.Step) { s.Size = "DELETE FROM line" },
			func(s *autoinc.Step) { s.Unit = 100 * max(0, 1-s.Unit) },
			func(s *autoinc.Step) { s.Lasting = !s.Lasting },
		} {
			edited := reread(t, p)
			phase := &edited.Phases[planned[i%len(planned)]]
			edit(&phase.Steps[0])
			refused(fmt.Sprintf("edit %d of %s/1", i, phase.Name), apply(s, edited, ""))
		}
		keyless := dbtest.Must(autoinc.ReadPlan(strings.NewReader(withoutKeys(planText(t, p)))))(t)
		refused("a plan without keys", apply(s, keyless, ""))
		requireNumber(t, s.conn, lines, "SELECT count(*) FROM line")
		for other := range 2 {
			dialect := []string{"sqlite", "postgres"}[other]
			if dialect != db.Dialect && strings.Contains(strings.Join(dbtest.Databases(t), " "), dialect) {
				foreign := newShop(t, open(t, dialect))
				refused("a plan for "+dialect, apply(s, plan(t, foreign.conn, autoinc.PlanOptions{}), ""))
			}
		}
		if err := apply(s, p, autoinc.Drop); err == nil || !strings.Contains(err.Error(), "the phase drop comes after") {
			t.Errorf("the phases out of order: %v", err)
		}
		for _, phase := range []autoinc.PhaseName{autoinc.Widen, autoinc.Readers, autoinc.Fence, autoinc.SwitchOn} {
			dbtest.NoError(t, apply(s, p, phase))
		}
		// The next phase would undo this change, which is made between the two.
		switch db.Dialect {
		case "sqlite":
			dbtest.Exec(t, s.conn, "ALTER TABLE orders ADD COLUMN more TEXT")
		case "mysql":
			dbtest.Exec(t, s.conn, "ALTER TABLE orders MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'another'")
		case "postgres":
			dbtest.Exec(t, s.conn, "ALTER TABLE orders ALTER id DROP IDENTITY")
		}
		refused("a changed table", apply(s, p, autoinc.Drop))
		// If we make a new plan now, it must continue from the current state.
		tables := autoinc.PlanOptions{}
		again := plan(t, s.conn, tables)
		if got := again.Phases[0].Steps; again.Phases[0].Name == autoinc.Widen && len(got) > 3 {
			t.Errorf("what is wide is widened again: %+v", got)
		}
		applyAll(t, s.conn, again, autoinc.ApplyOptions{})
		prove(t, s.conn, again)
	})
}

// If a phase was interrupted, we must not make a new plan in those cases where the
// catalog doesn't show what the phase has already taken down.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		s := newShop(t, db)
		p := plan(t, s.conn, autoinc.PlanOptions{})
		other := plan(t, s.conn, autoinc.PlanOptions{Floor: 2_000_000_000_000})
		last := p.Phases[0].Steps[len(p.Phases[0].Steps)-1].ID
		_, err := autoinc.Apply(failpoint.WithHook(t.Context(), func(point string) error {
			if strings.HasSuffix(point, " "+last) || strings.HasSuffix(point, last+" done") {
				return errKilled
			}
			return nil
		}), s.conn, p, autoinc.ApplyOptions{})
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		_, planned := autoinc.NewPlan(t.Context(), s.conn, autoinc.PlanOptions{})
		applied := unlocked(func() error {
			_, err := autoinc.Apply(t.Context(), s.conn, other, autoinc.ApplyOptions{DryRun: true})
			return err
		})
		if db.Dialect != "mysql" && planned != nil {
			t.Errorf("a transaction leaves nothing half done: %v", planned)
		}
		for _, err := range []error{planned, applied} {
			if db.Dialect == "mysql" && !errors.Is(err, autoinc.ErrUnfinished) || err != nil && strings.Contains(err.Error(), "%!") {
				t.Errorf("got %v", err)
			}
		}
	})
}
