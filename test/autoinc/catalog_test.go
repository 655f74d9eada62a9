package autoinc_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// whole returns everything that the catalog says about the tables, without the quotes around
// names, because SQLite changes those when it renames a table.
func (s shop) whole(t *testing.T) string {
	t.Helper()
	queries := map[string]string{
		"postgres": `SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull || a.attidentity::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || coalesce(c.relacl::text, '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema') AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v')
			UNION ALL SELECT inhrelid::regclass || ' is a part of ' || inhparent::regclass FROM pg_inherits
			UNION ALL SELECT conrelid::regclass || ' ' || conname || pg_get_constraintdef(oid) || convalidated FROM pg_constraint c WHERE NOT (contype = 'n' AND coninhcount > 0) AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.oid = c.conparentid AND o.conrelid = c.conrelid) AND connamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT tgname || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
			UNION ALL SELECT relname || pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT indexrelid::regclass || pg_get_indexdef(indexrelid) || indisvalid FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT proname FROM pg_proc WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
			UNION ALL SELECT sequencename || data_type || ' ' || start_value || ' ' || increment_by || ' ' || min_value || ' ' || max_value FROM pg_sequences
			UNION ALL SELECT relname || ' ' || coalesce(obj_description(c.oid, 'pg_class'), '') || coalesce(x.indisclustered::text, '') || coalesce(c.reloptions::text, '') FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace
			UNION ALL SELECT conrelid::regclass || conname || obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE connamespace = 'public'::regnamespace
			UNION ALL SELECT matviewname || definition || ispopulated || coalesce(obj_description(matviewname::regclass, 'pg_class'), '') FROM pg_matviews WHERE schemaname = 'public'
			UNION ALL SELECT attrelid::regclass || attname || coalesce(attstattarget::text, '') || coalesce((SELECT string_agg(o, ' ' ORDER BY o) FROM unnest(attoptions) o WHERE o !~ '^pg_'), '') FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid > 16000 AND attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace)
			UNION ALL SELECT stxname || (SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = stxrelid AND attnum = ANY (stxkeys::int2[])) FROM pg_statistic_ext
			UNION ALL SELECT objoid::regclass || ' ' || coalesce(a.attname, '') || ' ' || description FROM pg_description LEFT JOIN pg_attribute a ON a.attrelid = objoid AND a.attnum = objsubid AND objsubid > 0 WHERE classoid = 'pg_class'::regclass AND objoid > 16000
			UNION ALL SELECT attrelid::regclass || attname || attacl::text FROM pg_attribute WHERE attacl IS NOT NULL AND NOT attisdropped AND attrelid > 16000
			ORDER BY 1`,
		"sqlite": `SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_master ORDER BY 1`,
		"mysql": `SELECT CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT) FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, REPLACE(VIEW_DEFINITION, DATABASE(), '')) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME) FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TRIGGER_NAME, EVENT_OBJECT_TABLE, REPLACE(ACTION_STATEMENT, DATABASE(), '')) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
			UNION ALL SELECT CONCAT_WS(' ', TABLE_NAME, INDEX_NAME, COLUMN_NAME, SEQ_IN_INDEX) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
			ORDER BY 1`,
	}
	return strings.NewReplacer(`"`, "", "[", "", "]", "", "`", "").Replace(s.lines(t, queries[s.Dialect]))
}

// lines returns the rows of a query that selects a text, one a line, without nulls.
func (s shop) lines(t *testing.T, query string) string {
	t.Helper()
	rows := slices.DeleteFunc(dbtest.Rows(t, s.conn, query), func(row string) bool { return row == "NULL" })
	return strings.Join(append(rows, ""), "\n")
}
