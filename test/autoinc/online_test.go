package autoinc_test

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// With --online, everything must end up just as it would without it, except for the order of
// the columns. There is more to an ordinary Postgres schema than columns: partial indexes,
// expressions, operator classes, checks, statistics, privileges, comments, and triggers
// that set updated_at.
func TestOnlineEndsAsOffline(t *testing.T) {
	t.Parallel()
	schema := []string{
		"CREATE INDEX wide ON line (user_id DESC, no) INCLUDE (order_id)",
		"COMMENT ON COLUMN orders.id IS 'it''s'", "COMMENT ON VIEW customers IS E'two\n\n-- end: widen/1\nlines'", "COMMENT ON COLUMN customers.id IS E'a\n\nb'",
		"GRANT SELECT ON customers TO PUBLIC", "ALTER VIEW regulars SET (security_barrier = true)",
		"ALTER TABLE orders ALTER COLUMN user_id SET DEFAULT 7",
		`ALTER TABLE line ADD CONSTRAINT late FOREIGN KEY (user_id) REFERENCES "Us'er" MATCH FULL ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED`,
		"CREATE TABLE users (id serial PRIMARY KEY, email text, updated_at timestamptz NOT NULL DEFAULT 'epoch')",
		`CREATE TABLE posts (
			"the id" int GENERATED ALWAYS AS IDENTITY, user_id int NOT NULL REFERENCES users, state text DEFAULT 'new', number text, updated_at timestamptz NOT NULL DEFAULT 'epoch',
			CONSTRAINT posts_pkey PRIMARY KEY ("the id") DEFERRABLE,
			CONSTRAINT of_somebody CHECK (user_id > 0 AND "the id" <> user_id + 1000000),
			CONSTRAINT old_rows CHECK (user_id <> 7) NOT VALID,
			CONSTRAINT numbered UNIQUE (user_id, number) DEFERRABLE INITIALLY DEFERRED)`,
		`CREATE UNIQUE INDEX running ON posts (user_id) WHERE state = 'running' AND user_id <> 0`,
		`CREATE INDEX by_text ON posts (user_id, (user_id::text || number) text_pattern_ops DESC NULLS LAST) WITH (fillfactor = 70)`,
		`CREATE INDEX by_number ON posts (number COLLATE "C") INCLUDE (user_id)`,
		`CREATE INDEX only_where ON posts (state) WHERE "the id" % 2 = 0`,
		"CREATE INDEX by_hash ON posts USING hash (user_id)",
		"CREATE INDEX in_order ON posts (user_id)",
		"ALTER TABLE posts CLUSTER ON in_order",
		"ALTER TABLE posts ALTER user_id SET STATISTICS 777, ALTER user_id SET (n_distinct = -0.5, n_distinct_inherited = 3)",
		"CREATE STATISTICS both_of (dependencies) ON user_id, (lower(state)) FROM posts",
		"GRANT SELECT (user_id, state), UPDATE (user_id) ON posts TO pg_monitor WITH GRANT OPTION",
		"COMMENT ON INDEX in_order IS 'it''s in order'",
		"COMMENT ON CONSTRAINT of_somebody ON posts IS 'not nobody''s'",
		"COMMENT ON CONSTRAINT numbered ON posts IS 'by user'",
		"CREATE MATERIALIZED VIEW counted AS SELECT user_id, count(*) AS posts FROM posts GROUP BY user_id",
		"CREATE UNIQUE INDEX by_user ON counted (user_id)",
		"CREATE MATERIALIZED VIEW later AS SELECT user_id + 1 AS n FROM counted WITH NO DATA",
		"COMMENT ON MATERIALIZED VIEW counted IS 'it''s counted'",
		"COMMENT ON INDEX by_user IS 'one row each'",
		"ALTER MATERIALIZED VIEW counted CLUSTER ON by_user",
		"GRANT SELECT ON counted TO pg_monitor",
		"CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.updated_at := now(); RETURN NEW; END'",
		"CREATE TRIGGER touch BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION touch()",
		"CREATE TRIGGER touch BEFORE UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION touch()",
		"INSERT INTO users (email) SELECT 'user' || n FROM generate_series(1, 300) n",
		"INSERT INTO posts (user_id, number, state) SELECT n, n, CASE n WHEN 5 THEN 'running' ELSE 'done' END FROM generate_series(1, 300) n WHERE n <> 7",
	}
	ends := func(dialect string, online bool, schema ...string) (s shop, p *autoinc.Plan, before string) {
		s = newShop(t, open(t, dialect))
		dbtest.Exec(t, s.conn, schema...)
		before = s.whole(t)
		p = plan(t, s.conn, autoinc.PlanOptions{Online: online})
		applyAll(t, s.conn, p, autoinc.ApplyOptions{BatchSize: 20})
		prove(t, s.conn, p)
		return s, p, before
	}
	if dbtest.Nightly && slices.Contains(dbtest.Databases(t), "mysql") { // on MySQL, the two plans differ in two clauses
		offline, _, _ := ends("mysql", false)
		online, _, _ := ends("mysql", true)
		require(t, "MySQL", online.whole(t), offline.whole(t))
	}
	offline, _, _ := ends("postgres", false, schema...)
	s, p, before := ends("postgres", true, schema...)
	require(t, "the schema after --online", s.whole(t), offline.whole(t))
	requireNumber(t, s.conn, 0, "SELECT (SELECT count(*) FROM users WHERE updated_at <> 'epoch') + (SELECT count(*) FROM posts WHERE updated_at <> 'epoch')")
	dbtest.Exec(t, s.conn, "UPDATE posts SET state = 'x' WHERE user_id = 8")
	requireNumber(t, s.conn, 1, "SELECT count(*) FROM posts WHERE updated_at <> 'epoch'") // the trigger fires again
	dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
	require(t, "the schema after undo", s.whole(t), before)
}

// onlineParts selects what the catalog says about the parts of tables that state
// doesn't cover.
const onlineParts = `SELECT relname || ' ' || coalesce(obj_description(c.oid, 'pg_class'), '') || coalesce(x.indisclustered::text, '') || coalesce(c.reloptions::text, '') FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace
		UNION ALL SELECT conrelid::regclass || conname || obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT matviewname || definition || ispopulated || coalesce(obj_description(matviewname::regclass, 'pg_class'), '') FROM pg_matviews WHERE schemaname = 'public'
		UNION ALL SELECT attrelid::regclass || attname || coalesce(attstattarget::text, '') || coalesce((SELECT string_agg(o, ' ' ORDER BY o) FROM unnest(attoptions) o WHERE o !~ '^pg_'), '') FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid > 16000 AND attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace)
		UNION ALL SELECT stxname || (SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = stxrelid AND attnum = ANY (stxkeys::int2[])) FROM pg_statistic_ext
		UNION ALL SELECT objoid::regclass || ' ' || coalesce(a.attname, '') || ' ' || description FROM pg_description LEFT JOIN pg_attribute a ON a.attrelid = objoid AND a.attnum = objsubid AND objsubid > 0 WHERE classoid = 'pg_class'::regclass AND objoid > 16000
		UNION ALL SELECT attrelid::regclass || attname || attacl::text FROM pg_attribute WHERE attacl IS NOT NULL AND NOT attisdropped AND attrelid > 16000
		ORDER BY 1`

func (s shop) parts(t *testing.T) string {
	t.Helper()
	return s.state(t) + s.lines(t, onlineParts)
}
