package autoinc_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// A shop is a schema such as people really have. It has narrow keys, a reference to
// itself, a composite one, and a view.
type shop struct {
	dbtest.DB
	conn *sql.DB
	q    func(string) string

	online bool // whether its keys are replaced online
}

func newShop(t *testing.T, db dbtest.DB) shop {
	t.Helper()
	s := shop{DB: db, conn: db.Connect(t), q: catalogtest.Quote(db)}
	counting := map[string]string{
		"postgres": "serial PRIMARY KEY",
		"mysql":    "INT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'the AUTO_INCREMENT''s \\\\ `key`' PRIMARY KEY",
		"sqlite":   "INTEGER PRIMARY KEY AUTOINCREMENT",
	}[db.Dialect]
	always := map[string]string{"postgres": "integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}[db.Dialect]
	if always == "" {
		always = counting
	}
	integer := map[string]string{"postgres": "integer", "mysql": "INT UNSIGNED", "sqlite": "INTEGER"}[db.Dialect]
	dbtest.Exec(t, s.conn,
		s.sql("CREATE TABLE [Us'er] ([Order] %s, boss %s, tenant int NOT NULL DEFAULT 1, [nöme] varchar(40), UNIQUE (tenant, [Order]), "+
			"FOREIGN KEY (boss) REFERENCES [Us'er] ([Order]) ON DELETE SET NULL)", counting, integer),
		s.sql("CREATE TABLE orders (id %s, user_id %s NOT NULL, total int NOT NULL DEFAULT 0, "+
			"CONSTRAINT by_user FOREIGN KEY (user_id) REFERENCES [Us'er] ([Order]) ON DELETE CASCADE ON UPDATE CASCADE)", always, integer),
		s.sql("CREATE TABLE line (order_id %s NOT NULL, no int NOT NULL, tenant int NOT NULL, user_id %[1]s NOT NULL, PRIMARY KEY (order_id, no), "+
			"FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE RESTRICT ON UPDATE NO ACTION, FOREIGN KEY (tenant, user_id) REFERENCES [Us'er] (tenant, [Order]))", integer),
		"CREATE INDEX line_user ON line (tenant, user_id)",
		"CREATE INDEX order_user ON orders (user_id)",
		s.sql("CREATE VIEW customers AS SELECT [Order] AS id, [nöme] FROM [Us'er]"),
		"CREATE VIEW regulars AS SELECT id FROM customers",
	)
	if db.Dialect == "postgres" {
		dbtest.Exec(t, s.conn, s.sql("CREATE INDEX ON [Us'er] (lower([nöme]))")) // an index without a column
	}
	var users, orders, lines []string
	for i := 1; i <= 50; i++ {
		users = append(users, fmt.Sprintf("(%s, 'n''%d')", []string{"NULL", fmt.Sprint(max(i-1, 1))}[min(i-1, 1)], i))
		orders = append(orders, fmt.Sprintf("(%d)", i))
		lines = append(lines, fmt.Sprintf("(%d, 1, 1, %[1]d)", i))
	}
	dbtest.Exec(t, s.conn, s.sql("INSERT INTO [Us'er] (boss, [nöme]) VALUES %s", strings.Join(users, ", ")),
		"INSERT INTO orders (user_id) VALUES "+strings.Join(orders, ", "), "INSERT INTO line VALUES "+strings.Join(lines, ", "))
	return s
}

// sql formats a statement, in which names in brackets get quoted as the database
// requires.
func (s shop) sql(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	for {
		before, rest, ok := strings.Cut(text, "[")
		if !ok {
			return text
		}
		name, after, _ := strings.Cut(rest, "]")
		text = before + s.q(name) + after
	}
}

var phaseNames = []autoinc.PhaseName{autoinc.Widen, autoinc.Readers, autoinc.Fence, autoinc.SwitchOn, autoinc.Drop, autoinc.Guard}

func plan(t *testing.T, conn *sql.DB, options autoinc.PlanOptions) *autoinc.Plan {
	t.Helper()
	p := dbtest.Must(autoinc.NewPlan(t.Context(), conn, options))(t)
	return reread(t, p)
}

// reread writes a plan and reads it back in.
func reread(t *testing.T, p *autoinc.Plan) *autoinc.Plan {
	t.Helper()
	file := planText(t, p)
	again, err := autoinc.ReadPlan(strings.NewReader(file))
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	require(t, "the plan that was read", planText(t, again), file)
	return again
}

func planText(t *testing.T, p *autoinc.Plan) string {
	t.Helper()
	var b strings.Builder
	dbtest.NoError(t, p.WriteText(&b))
	return b.String()
}

// applyAll applies all phases and returns their names.
func applyAll(t *testing.T, conn *sql.DB, p *autoinc.Plan, options autoinc.ApplyOptions) (names []autoinc.PhaseName) {
	t.Helper()
	for {
		phase := dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
		if phase.Name == "" {
			return names
		}
		names = append(names, phase.Name)
	}
}

func verify(t *testing.T, conn *sql.DB, p *autoinc.Plan) autoinc.Verification {
	t.Helper()
	return dbtest.Must(autoinc.Verify(t.Context(), conn, p))(t)
}

func verdicts(t *testing.T, v autoinc.Verification) string {
	t.Helper()
	var b strings.Builder
	dbtest.NoError(t, v.WriteText(&b))
	return b.String()
}

// prove verifies a plan that was applied.
func prove(t *testing.T, conn *sql.DB, p *autoinc.Plan) {
	t.Helper()
	if v := verify(t, conn, p); v.Err() != nil {
		t.Errorf("not proven:\n%s", verdicts(t, v))
	}
}

func TestWholeWay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		s := newShop(t, db)
		p := plan(t, s.conn, autoinc.PlanOptions{})
		t.Log(planText(t, p))
		if err := verify(t, s.conn, p).Err(); err == nil {
			t.Error("a database that counts is verified")
		}
		if names := applyAll(t, s.conn, p, autoinc.ApplyOptions{}); !slices.Equal(names, phaseNames) {
			t.Errorf("applied %q", names)
		}
		v := verify(t, s.conn, p)
		if got := verdicts(t, v); v.Err() != nil || !strings.Contains(got, " 0 open, 0 refuted") {
			t.Errorf("not proven:\n%s", got)
		}
		const first int64 = 7_350_000_000_000_000_001
		dbtest.Exec(t, s.conn,
			s.sql("INSERT INTO [Us'er] ([Order], boss) VALUES (%d, 7)", first),
			s.sql("INSERT INTO orders (id, user_id) VALUES (%d, %d)", first+1, first),
			s.sql("INSERT INTO line VALUES (%d, 1, 1, %d)", first+1, first),
			s.sql("UPDATE [Us'er] SET [nöme] = 'old rows stay' WHERE [Order] = 3"))
		for _, insert := range []string{
			"INSERT INTO [Us'er] ([nöme]) VALUES ('no key')",
			"INSERT INTO [Us'er] ([Order], [nöme]) VALUES (51, 'a small key')",
			"INSERT INTO orders (id, user_id) VALUES (51, 1)",
		} {
			if _, err := s.conn.Exec(s.sql("%s", insert)); err == nil {
				t.Errorf("%s: taken", insert)
			}
		}
		upsert := "INSERT INTO [Us'er] ([Order], [nöme]) VALUES (4, 'again') ON CONFLICT ([Order]) DO UPDATE SET [nöme] = excluded.[nöme]"
		if db.Dialect == "mysql" {
			upsert = "INSERT INTO [Us'er] ([Order], [nöme]) VALUES (4, 'again') ON DUPLICATE KEY UPDATE [nöme] = 'again'"
		}
		dbtest.Exec(t, s.conn, s.sql("%s", upsert))
		requireNumber(t, s.conn, 51, "SELECT count(*) FROM regulars")

		// The database no longer returns the key of the last row. SQLite returns a number
		// that isn't the key.
		result := dbtest.Must(s.conn.Exec(s.sql("INSERT INTO [Us'er] ([Order]) VALUES (%d)", first+2)))(t)
		if id, err := result.LastInsertId(); db.Dialect != "postgres" && (err != nil || id != map[string]int64{"sqlite": 52}[db.Dialect]) {
			t.Errorf("LastInsertId is %d, %v", id, err)
		}
	})
}

// Plans must not warn of a rewrite that doesn't happen.
func TestNothingToWiden(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		dbtest.Exec(t, conn, map[string]string{
			"postgres": "CREATE TABLE orders (id bigserial PRIMARY KEY)",
			"mysql":    "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY)",
			"sqlite":   "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		}[db.Dialect])
		for _, online := range []bool{false, true} {
			first := plan(t, conn, autoinc.PlanOptions{Online: online}).Phases[0] // on Postgres, no phase widens
			notes := fmt.Sprint(first.Notes)
			if !strings.Contains(notes, "there is nothing to widen.") || first.Name == autoinc.Widen && strings.Contains(fmt.Sprint(first.Steps), "ALTER") {
				t.Errorf("online %t: %v", online, first)
			}
		}
	})
}

func TestRefusedPlans(t *testing.T) {
	t.Parallel()
	db := dbtest.SQLite(t)
	s := newShop(t, db)
	p := plan(t, s.conn, autoinc.PlanOptions{})
	file := planText(t, p)
	for what, edited := range map[string]string{
		"edited":   strings.Replace(file, "BIGINT NOT NULL", "BIGINT", 1),
		"cut":      file[:len(file)/2],
		"no plan":  "SELECT 1;\n",
		"nothing":  "",
		"appended": file + "DROP TABLE orders;\n",
	} {
		if _, err := autoinc.ReadPlan(strings.NewReader(edited)); err == nil {
			t.Errorf("%s: read", what)
		} else if !errors.Is(err, autoinc.ErrPlan) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A plan begins with a page that says how large the tables are, and what happens to them.
func TestFirstPage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		s := newShop(t, db)
		dbtest.Exec(t, s.conn, "INSERT INTO orders (user_id, total) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT 1, 7 FROM n")
		for range 3 {
			dbtest.Exec(t, s.conn, "INSERT INTO orders (user_id, total) SELECT user_id, total FROM orders")
		}
		if db.Dialect == "postgres" { // a table that was never analyzed
			dbtest.Exec(t, s.conn, s.sql("CREATE TABLE many (user_id int REFERENCES [Us'er]) WITH (autovacuum_enabled = false)"), "INSERT INTO many SELECT 1 FROM generate_series(1, 100001)")
		}
		if db.Dialect != "sqlite" {
			dbtest.Exec(t, s.conn, map[string]string{"postgres": "ANALYZE orders", "mysql": "ANALYZE TABLE orders"}[db.Dialect])
		}
		p := plan(t, s.conn, autoinc.PlanOptions{})
		var page strings.Builder
		for line := range strings.Lines(planText(t, p)) {
			if text, ok := strings.CutPrefix(line, "-- | "); ok {
				page.WriteString(text)
			}
		}
		var html strings.Builder
		dbtest.NoError(t, p.WriteHTML(&html))
		wants := []string{"3 tables", "7600 rows", "1 copy", "line\": 50 rows", "writers", "in all ", "free disk needed: ", "until the first generated key is inserted", "guard "}
		switch db.Dialect {
		case "mysql": // the server only estimates, and MySQL copies the table again to drop the counter
			wants[1], wants[3] = " rows", " rows"
			if !db.MariaDB {
				wants[2] = "2 copies"
			}
		case "postgres":
			wants[0] = "4 tables"
			wants = append(wants, "as measured on this server", "many\": at least 100000 rows", "in all at least 107")
		}
		for _, want := range wants {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%q is not in\n%s", want, page.String())
			}
		}
		for _, want := range []string{"<td>guard</td>", "in all ", "orders"} {
			if !strings.Contains(html.String(), want) {
				t.Errorf("%q is not in\n%s", want, html.String())
			}
		}
	})
}
