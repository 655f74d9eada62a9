package autoinc_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// With --online, everything must end up just as it would without it, except for the order of
// the columns.
func TestOnlineEndsAsOffline(t *testing.T) {
	t.Parallel()
	ends := func(online bool) (after string) {
		s := shop{DB: open(t, "postgres")}
		s.conn = s.Connect(t)
		s.load(t, "testdata/schemas/features.postgres.sql")
		s.load(t, "testdata/schemas/rows/features.postgres.sql")
		p := plan(t, s.conn, autoinc.PlanOptions{Online: online, Composite: true, Options: catalog.Options{LikelyChildren: true}})
		applyAll(t, s.conn, p, autoinc.ApplyOptions{BatchSize: 20})
		return s.whole(t)
	}
	require(t, "the schema after --online", ends(true), ends(false))
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
