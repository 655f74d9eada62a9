package sqlstore

import (
	_ "embed" // for the DDL
	"errors"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A dialect contains everything that differs between databases, such as the
// replacements for the {words} in statements.go.
type dialect struct {
	sqldialect.Dialect

	ddl    []string // the statements that create the tables
	schema string   // an expression for the schema of the tables, if their name has none
	words  map[string]string

	// unknown replaces some of words if the server doesn't tell us what they read,
	// either because the role may not or because the server doesn't have it, as is
	// common among compatible servers. If the first replacements don't help, the next
	// ones are added. The last ones read nothing that a server might not have.
	unknown []map[string]string

	// clusters has the clusters in which each member accepts writes, by the numbers of
	// them that {cluster} has.
	clusters map[membership]cluster

	examine []string // queries that find settings which endanger leases; see [Store.Examine]

	permanent func(err error) string // what to do about an error that a retry does not fix; "" for others
}

// A cluster contains what is different if the server is a member of a cluster.
type cluster struct {
	words    map[string]string   // replace some words of the dialect
	settings sqlsession.Settings // during each statement
}

// A membership is the cluster that the server belongs to.
type membership int64

const (
	notMember   membership = iota // the server is on its own, or the only one that accepts writes
	galera                        // Galera
	multiWriter                   // Group Replication in multi-primary mode
	notAsked    membership = -1
)

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

// conflict reports whether a statement should be tried again, usually because another one
// was faster. If the server has left its cluster, the next one may be another server.
func conflict(err error) bool { return sqldialect.Conflict(err) || sqldialect.HasLeft(err) }

// postgresIdentity identifies the cluster, its timeline, the two tables, and the lease
// table's file, whose path has the OID of the database. We need the timeline because each
// promotion and each recovery to a point in time starts a new one, the database because
// CREATE DATABASE … TEMPLATE copies the tables with their identities, and the file because
// TRUNCATE creates a new one. Note that a standby can't read its timeline. With || instead
// of concat_ws, a new session would look at more operators, which takes 0.7 million
// instructions. To read the database from pg_database takes a tenth of a start.
const postgresIdentity = `CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE
	concat_ws('/', (pg_control_system()).system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)) END,
	` + postgresTables

const postgresTables = "'{ns}'::regclass::oid, '{lease}'::regclass::oid, pg_relation_filepath('{lease}'::regclass)"

var postgres = &dialect{
	Dialect: sqldialect.Postgres,
	ddl:     []string{postgresDDL},
	words: map[string]string{
		// We read the clock only once, because it advances within a statement. With 1000000
		// instead of 1e6, which is numeric too, it would take 0.4 million instructions more.
		"{write}": sqlsession.Begin + `,
		CAST(extract(epoch FROM clock_timestamp()) * 1e6 AS bigint) AS now)
`,
		"{read}": sqlsession.ToPrimary + `WITH here AS MATERIALIZED (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1e6 AS bigint) AS now)
`,
		"{to primary}":    sqlsession.ToPrimary,
		"{now}":           "(SELECT now FROM here)",
		"{answer now}":    "(SELECT now FROM here)",
		"{returning now}": "RETURNING (SELECT now FROM here)",
		"{or keep it}":    "ON CONFLICT DO NOTHING",
		"{div}":           "/",
		"{cluster}":       "0",

		// xmin is the transaction that wrote the row of the namespace. It's part of the
		// fingerprint because a row that was restored from a dump has been written by
		// another transaction.
		"{fingerprint}":         "concat_ws('/', " + postgresIdentity + ", n.xmin)",
		"{written fingerprint}": "concat_ws('/', " + postgresIdentity + ", txid_current() % 4294967296)",
		"{volatile}":            "0",
		"{suspect}":             "EXISTS (SELECT 1 FROM pg_class WHERE oid IN ('{ns}'::regclass, '{lease}'::regclass) AND (relhastriggers OR relhasrules OR relrowsecurity OR relkind <> 'r'))",
	},
	unknown: []map[string]string{
		{
			"{fingerprint}":         "concat_ws('/', 'unknown', " + postgresTables + ", n.xmin)",
			"{written fingerprint}": "concat_ws('/', 'unknown', " + postgresTables + ", txid_current() % 4294967296)",
			"{volatile}":            "1",
		},
		unknownFingerprint,
		unknownSuspect,
	},
	examine: examinePostgres,
	permanent: func(err error) string {
		switch state := sqldialect.SQLState(err); {
		case sqldialect.ReadOnly(err):
			return "connect to the primary, and set default_transaction_read_only = off for this role"
		case strings.Contains(err.Error(), "must be run with standard_conforming_strings=on"): // returned by pgx with the simple protocol
			return "set standard_conforming_strings = on for this role"
		case errors.Is(err, sqlsession.ErrStandby):
			return "send all statements of Snowkey to the primary; docs/stores.md#proxies has the settings"
		case strings.HasPrefix(state, "28"), state == "42501", state == "3D000", state == "3F000":
			return permanentRemedy
		case state == "42703": // a column is missing
			return "the tables are of another version of Snowkey"
		}
		return ""
	},
}

// If there's nothing by which we could recognize the server, each new lease holds off,
// as if the server could lose commits at any time.
var (
	unknownFingerprint = map[string]string{"{fingerprint}": "'unknown'", "{written fingerprint}": "'unknown'", "{volatile}": "1"}
	unknownSuspect     = map[string]string{"{suspect}": "1 = 0"}
)

const permanentRemedy = "correct the user, password, database, schema or privileges; docs/leases.md lists what the store needs"

var mysql = &dialect{
	Dialect: sqldialect.MySQL,
	ddl:     strings.Split(mysqlDDL, ";\n"),
	schema:  "DATABASE()",
	words: map[string]string{
		// Only MariaDB executes this comment, which limits the wait for a locked row. In
		// MySQL we can't set this for a single statement.
		"{write}":         "/*M! SET STATEMENT innodb_lock_wait_timeout = @seconds FOR */ ",
		"{read}":          "",
		"{to primary}":    "",
		"{now}":           mysqlNow, // the time at which the statement began
		"{answer now}":    "LAST_INSERT_ID(2 * " + mysqlNow + " + @@autocommit) DIV 2",
		"{returning now}": "",
		"{or keep it}":    "ON DUPLICATE KEY UPDATE namespace = namespace", // IGNORE would hide other errors too
		"{div}":           "DIV",
		"{cluster}": "0 /*!80000 + 2 * (SELECT COUNT(*) = 2 FROM performance_schema.global_variables WHERE " +
			"variable_name = 'group_replication_single_primary_mode' AND variable_value = 'OFF' OR variable_name = 'group_replication_group_name' AND variable_value LIKE '%-%') */" +
			"/*M! + (@@wsrep_on AND @@wsrep_provider <> 'none') */",

		// Only MySQL executes the first comment, and only MariaDB the second. We have to
		// include the engine, because changing it creates the table again, and this may
		// happen within the same second, so the creation time alone isn't enough.
		"{fingerprint}": "CONCAT(/*!80000 @@server_uuid */ /*M! CONCAT(@@hostname, ':', @@port, ':', @@server_id) */, '/', " +
			"/*!80000 COALESCE((SELECT SUM(UNIX_TIMESTAMP(create_time) * 2 + (engine <> 'InnoDB')) FROM information_schema.tables WHERE table_schema = {schema} AND table_name IN ('{name}', '{name}_ns')), 0) */" +
			"/*M! COALESCE((SELECT UNIX_TIMESTAMP(create_time) * 2 + (engine <> 'InnoDB') FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}'), 0) + " +
			"COALESCE((SELECT UNIX_TIMESTAMP(create_time) * 2 + (engine <> 'InnoDB') FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}_ns'), 0) */)",
		"{written fingerprint}": "{fingerprint}",
		// If there is a binary log, commits that aren't in it are rolled back after a
		// crash. On MariaDB, 3 is stricter than 1.
		"{volatile}": "(@@innodb_flush_log_at_trx_commit NOT IN (1, 3) OR @@log_bin = 1 AND @@sync_binlog <> 1)",
		"{suspect}": "EXISTS (SELECT 1 FROM information_schema.triggers WHERE event_object_schema = {schema} AND event_object_table = '{name}') OR " +
			"EXISTS (SELECT 1 FROM information_schema.triggers WHERE event_object_schema = {schema} AND event_object_table = '{name}_ns') OR " +
			"EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}' AND table_type LIKE '%VIEW%') OR " +
			"EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}_ns' AND table_type LIKE '%VIEW%')",
	},
	// Any member of a cluster may execute a statement, so the fingerprint must be the same
	// on all of them. It's the name of the cluster, and the view: when its present members
	// agreed on each other. The view changes whenever commits can have been lost. We leave
	// out when the tables were created, because each member has its own time for it.
	clusters: map[membership]cluster{
		galera: {words: map[string]string{
			// wsrep_sync_wait makes a member first apply what was committed on the others.
			"{write}": "SET STATEMENT innodb_lock_wait_timeout = @seconds, wsrep_sync_wait = 7 FOR ",
			"{read}":  "SET STATEMENT wsrep_sync_wait = 7 FOR ",
			// The number of the view is its position in the cluster's log. Views are also
			// counted, but this count restarts with the cluster.
			"{fingerprint}": "(SELECT CONCAT('galera/', MAX(CONCAT(cluster_uuid, '/', view_seqno))) FROM mysql.wsrep_cluster)",
		}},
		multiWriter: {
			words: map[string]string{
				// The first part of VIEW_ID is new whenever the group is bootstrapped. A
				// server that isn't a member at the moment has none.
				"{fingerprint}": "(SELECT CONCAT('group/', @@group_replication_group_name, '/', NULLIF(MAX(view_id), '')) FROM performance_schema.replication_group_member_stats)",
			},
			// Like wsrep_sync_wait. A single statement can't set it. A server that has left
			// its group is read-only and may answer with old rows, so it gets a value that
			// doesn't exist, which is error 1231.
			settings: sqlsession.Settings{
				Apply:   "SET @snowkey_was = @@SESSION.group_replication_consistency, SESSION group_replication_consistency = IF(@@GLOBAL.super_read_only, 'not in the group', 'BEFORE')",
				Restore: "SET SESSION group_replication_consistency = @snowkey_was",
			},
		},
	},
	unknown: []map[string]string{{"{cluster}": "0"}, unknownFingerprint, unknownSuspect},
	examine: examineMySQL,
	permanent: func(err error) string {
		switch sqldialect.Number(err) {
		case 1044, 1045, 1046, 1049, 1142, 1143, 1227, 1370, 1410, 1698:
			return permanentRemedy
		case 1290, 1792, 1836:
			return "connect to the primary, and set transaction_read_only = 0 for the sessions of this user"
		case 1054: // a column is missing
			return "the tables are of another version of Snowkey"
		}
		return ""
	},
}

// We can't use UNIX_TIMESTAMP or NOW here, because they're wrong for an hour when
// daylight saving time ends in the session's time zone.
const mysqlNow = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
