package autoinc_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// partitionedShop creates a schema with two levels of partitions.
func partitionedShop(t *testing.T, db dbtest.DB) shop {
	t.Helper()
	s := shop{DB: db, conn: db.Connect(t)}
	s.load(t, "testdata/partitions.postgres.sql")
	if number(t, s.conn, "SELECT current_setting('server_version_num')::int") >= 180000 { // allows such foreign keys on partitioned tables, and merges a partition's valid one into it
		dbtest.Exec(t, s.conn, "ALTER TABLE orders DROP CONSTRAINT by_user, ADD CONSTRAINT by_user FOREIGN KEY (user_id) REFERENCES users NOT VALID",
			`ALTER TABLE items DROP CONSTRAINT ordered, ADD CONSTRAINT ordered FOREIGN KEY (day, "order") REFERENCES orders NOT VALID`)
	}
	return s
}

var partitioned = autoinc.PlanOptions{Online: true, Composite: true}

// wide replaces the type of keys in the output of the catalog.
func wide(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, " day ") {
			line = strings.ReplaceAll(line, "integer", "bigint")
			line = strings.ReplaceAll(line, "2147483647", "9223372036854775807")
		}
		b.WriteString(line)
	}
	return b.String()
}

// With --online, nothing but the types of partitioned tables may change, and Undo must
// restore them.
func TestPartitions(t *testing.T) {
	t.Parallel()
	db, _ := one(t, "postgres")
	s := partitionedShop(t, db)
	before, rows := s.whole(t), s.rows(t)
	if _, err := autoinc.NewPlan(t.Context(), s.conn, autoinc.PlanOptions{Composite: true}); !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), `"of_first"`) {
		t.Errorf("a foreign key to a partition, without --online: %v", err)
	}
	p := plan(t, s.conn, partitioned)
	dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{BatchSize: 1}))(t)
	require(t, "the schema after widen", withoutProgress(s.whole(t)), wide(before))
	applyAll(t, s.conn, p, autoinc.ApplyOptions{})
	prove(t, s.conn, p)
	require(t, "the rows", s.rows(t), rows)
	dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
	require(t, "the schema after undo", s.whole(t), before)
	require(t, "the rows after undo", s.rows(t), rows)
}

// stepOf returns the first step of a phase whose text ends with the given text.
func stepOf(t *testing.T, phase autoinc.Phase, text string) autoinc.Step {
	t.Helper()
	i := slices.IndexFunc(phase.Steps, func(s autoinc.Step) bool { return strings.HasSuffix(s.Text, text) })
	if i < 0 {
		t.Fatalf("no step %q", text)
	}
	return phase.Steps[i]
}

// between returns a context that makes statements run at certain points of Apply, once
// each.
func (s shop) between(t *testing.T, statements map[string][]string) context.Context {
	return failpoint.WithHook(t.Context(), func(point string) error {
		now := statements[point]
		delete(statements, point)
		dbtest.Exec(t, s.conn, now...)
		return nil
	})
}

// While the plan is being applied, partitions are created, attached, dropped, detached
// and attached again. No row may be lost, and Undo must be able to reverse all of this.
func TestPartitionsComeAndGo(t *testing.T) {
	t.Parallel()
	db, _ := one(t, "postgres")
	s := partitionedShop(t, db)
	const row = `INSERT INTO %s (day, "the id", user_id) VALUES (%d, %d, 5)`
	dbtest.Exec(t, s.conn, "CREATE TABLE goes PARTITION OF orders FOR VALUES FROM (40) TO (50)", fmt.Sprintf(row, "orders", 41, 1000), fmt.Sprintf(row, "goes", 42, 1001),
		"CREATE TABLE dropped PARTITION OF orders FOR VALUES FROM (80) TO (90)", "COMMENT ON COLUMN dropped.user_id IS 'it goes'",
		"CREATE INDEX of_dropped ON dropped (user_id, state)", "COMMENT ON INDEX of_dropped IS 'it goes'", "ALTER TABLE dropped CLUSTER ON of_dropped",
		"ALTER TABLE dropped ADD CHECK (user_id < 900), ADD CONSTRAINT of_dropped FOREIGN KEY (user_id) REFERENCES users", "COMMENT ON CONSTRAINT dropped_user_id_check ON dropped IS 'it goes'",
		"CREATE STATISTICS of_dropping (dependencies) ON user_id, state FROM dropped", "GRANT UPDATE (user_id) ON dropped TO pg_monitor",
		"ALTER TABLE dropped ALTER user_id SET DEFAULT 9, ALTER user_id SET STATISTICS 9")
	p := plan(t, s.conn, partitioned)
	widen := p.Phases[0]
	const leave, goes = "ALTER TABLE orders DETACH PARTITION goes", "ALTER TABLE orders ATTACH PARTITION goes FOR VALUES FROM (40) TO (50)"
	statements := map[string][]string{
		"before " + stepOf(t, widen, `fill the new columns of "public"."third's"`).ID: {
			"CREATE TABLE made PARTITION OF orders FOR VALUES FROM (50) TO (60)", fmt.Sprintf(row, "orders", 51, 1002), fmt.Sprintf(row, "made", 52, 1003),
			"UPDATE orders SET day = 53 WHERE day = 41",
			"CREATE TABLE attached (LIKE orders INCLUDING CONSTRAINTS)", "INSERT INTO attached SELECT * FROM made", "UPDATE attached SET day = day + 10",
			"ALTER TABLE orders ATTACH PARTITION attached FOR VALUES FROM (60) TO (70)",
		},
		"before " + stepOf(t, widen, `for the new columns of "public"."goes"`).ID: {
			leave, // the swap must notice this
			"ALTER TABLE orders DETACH PARTITION dropped", "DROP TABLE dropped",
			"CREATE TABLE last PARTITION OF orders FOR VALUES FROM (70) TO (80)", fmt.Sprintf(row, "last", 71, 1004),
		},
	}
	_, err := autoinc.Apply(s.between(t, statements), s.conn, p, autoinc.ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), `"partition":"public.goes"`) && !strings.Contains(err.Error(), `"partition":"\"public\".\"goes\""`) || !strings.Contains(err.Error(), "attach the partition again") {
		t.Fatalf("a partition was detached: %v", err)
	}
	if len(statements) > 0 {
		t.Fatalf("not run: %q", statements)
	}
	dbtest.Exec(t, s.conn, goes)
	applyAll(t, s.conn, p, autoinc.ApplyOptions{})
	for _, proof := range verify(t, s.conn, p).Proofs {
		if proof.Verdict == autoinc.Refuted && !strings.Contains(proof.Subject, `"dropped"`) {
			t.Errorf("not proven: %+v", proof)
		}
	}
	days := s.lines(t, `SELECT string_agg(day || ':' || "the id" || ':' || user_id, ' ' ORDER BY day) FROM orders WHERE day >= 40`)
	require(t, "the rows of these partitions", days, "42:1001:5 51:1002:5 52:1003:5 53:1000:5 61:1002:5 62:1003:5 63:1000:5 71:1004:5\n")
	const types = `SELECT DISTINCT attrelid::regclass FROM pg_attribute WHERE attname IN ('the id', 'user_id', 'boss') AND atttypid = 'int'::regtype OR attname LIKE 'snowkey%' AND attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p'))`
	require(t, "the narrow tables", s.lines(t, types), "")
	for _, partition := range []string{"made", "attached", "last", "goes"} {
		for _, refused := range []string{"UPDATE %s SET user_id = 777", "INSERT INTO %[1]s SELECT * FROM %[1]s LIMIT 1", "UPDATE %s SET boss = 777"} {
			if _, err := s.conn.Exec(fmt.Sprintf(refused, partition)); err == nil {
				t.Errorf("not refused: "+refused, partition)
			}
		}
	}
	dbtest.Exec(t, s.conn, leave, "DROP TABLE goes")
	dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
	require(t, "the wide tables", s.lines(t, strings.Replace(types, "'int'", "'bigint'", 1)), "")
}

// If a partition is created after Apply has compared the plan but before the new
// columns exist, the phase must end before the partition's table is changed.
func TestPartitionMadeTooEarly(t *testing.T) {
	t.Parallel()
	db, _ := one(t, "postgres")
	s := partitionedShop(t, db)
	p := plan(t, s.conn, partitioned)
	check := stepOf(t, p.Phases[0], `partitions of "public"."orders" are those of the plan`)
	made := []string{"CREATE TABLE made PARTITION OF orders FOR VALUES FROM (50) TO (60)", "INSERT INTO orders (day) VALUES (51)"}
	_, err := autoinc.Apply(s.between(t, map[string][]string{"before widen/1": made}), s.conn, p, autoinc.ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), check.ID+" ") || !strings.Contains(err.Error(), `"partition":"public.made"`) || !strings.Contains(err.Error(), "plan again") {
		t.Errorf("got %v", err)
	}
	dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
	plan(t, s.conn, partitioned)
}

// Writers of partitioned tables must be able to continue, no matter if they write
// through the table, directly into a partition, or move rows from one partition to
// another. Apply must not need a superuser for this.
func TestPartitionsWriters(t *testing.T) {
	t.Parallel()
	conn := owner(t).Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE users (id serial PRIMARY KEY)",
		"CREATE TABLE orders (id int GENERATED BY DEFAULT AS IDENTITY, day int NOT NULL, user_id int NOT NULL REFERENCES users, note text, PRIMARY KEY (day, id)) PARTITION BY RANGE (day)",
		"CREATE INDEX by_user ON orders (user_id)",
		"CREATE TABLE first PARTITION OF orders FOR VALUES FROM (0) TO (10)",
		"CREATE TABLE second PARTITION OF orders FOR VALUES FROM (10) TO (20) PARTITION BY HASH (day)",
		"CREATE TABLE third PARTITION OF second FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
		"CREATE TABLE items (day int, order_id int, FOREIGN KEY (day, order_id) REFERENCES orders)",
		"INSERT INTO users SELECT nextval('users_id_seq') FROM generate_series(1, 100)",
		"INSERT INTO orders (day, user_id) SELECT n % 20, n % 100 + 1 FROM generate_series(1, 2000) n")
	p := plan(t, conn, partitioned)
	var inserted atomic.Int64
	insert := func(table string, day, user int) func(tx *sql.Tx) error {
		return func(tx *sql.Tx) error {
			var id int
			// Up to Postgres 16, the identity doesn't provide a key if you insert
			// directly into a partition.
			err := tx.QueryRow(fmt.Sprintf("INSERT INTO %s (id, day, user_id, note) VALUES (nextval(pg_get_serial_sequence('orders', 'id')), %d, %d, 'new') RETURNING id", table, day, user)).Scan(&id)
			if err == nil {
				_, err = tx.Exec(fmt.Sprintf("INSERT INTO items VALUES (%d, %d)", day, id))
			}
			if err == nil {
				inserted.Add(1)
			}
			return err
		}
	}
	c := write(t, conn, insert("orders", 5, 3), insert("orders", 15, 4), insert("first", 5, 5), insert("third", 15, 6),
		inTurn("UPDATE orders SET day = 17, user_id = 8 WHERE id = (SELECT min(id) FROM orders WHERE day = 4)"),
		inTurn("UPDATE orders SET note = 'old' WHERE id BETWEEN 30 AND 40"))
	c.wait(t, 6)
	dbtest.Must(autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{BatchSize: 50, Pause: 5 * time.Millisecond}))(t)
	c.stop()
	if len(c.errors) > 0 {
		t.Errorf("the writers' statements failed: %v", c.errors)
	}
	requireNumber(t, conn, 2000+int(inserted.Load()), "SELECT count(*) FROM orders")
	applyAll(t, conn, p, autoinc.ApplyOptions{})
	prove(t, conn, p)
}

// Starting with PostgreSQL 17, a partition gets the identity when it is attached, but
// its own partitions do not, which makes DROP IDENTITY fail. The test also runs the
// remedy.
func TestPartitionWithoutIdentityRefused(t *testing.T) {
	t.Parallel()
	conn := open(t, "postgres").Since(t, 17).Connect(t) // before, partitions do not share the identity
	dbtest.Exec(t, conn, "CREATE TABLE t (day int, id int GENERATED BY DEFAULT AS IDENTITY, PRIMARY KEY (day, id)) PARTITION BY LIST (day)",
		"CREATE TABLE u (day int, id int NOT NULL, PRIMARY KEY (day, id)) PARTITION BY LIST (day)", "CREATE TABLE v PARTITION OF u FOR VALUES IN (1)",
		"ALTER TABLE t ATTACH PARTITION u FOR VALUES IN (1)", "CREATE TABLE w PARTITION OF t DEFAULT", "INSERT INTO t (day) VALUES (1), (2)")
	for _, online := range []bool{false, true} {
		options := autoinc.PlanOptions{Composite: true, Online: online}
		if _, err := autoinc.NewPlan(t.Context(), conn, options); !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), `its partition "public"."v" does not have the identity`) {
			t.Errorf("got %v", err)
		}
	}
	dbtest.Exec(t, conn, "ALTER TABLE u DETACH PARTITION v", "ALTER TABLE u ATTACH PARTITION v FOR VALUES IN (1)")
	applyAll(t, conn, plan(t, conn, partitioned), autoinc.ApplyOptions{})
	dbtest.Exec(t, conn, "INSERT INTO t (day, id) VALUES (1, 7350000000000000001), (2, 7350000000000000002)")
}
