package sqlgen

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

//go:embed writer_mariadb.sql
var mariaDBWriter string

//go:embed writer_mysql.sql
var mysqlWriter string

// mysqlParts is what both writers have: how they reserve the row, and how they check the
// tick of a number.
//
//go:embed parts_mysql.sql
var mysqlParts string

func (w Writer) mariaDB() ([]string, error) {
	return w.fill("MariaDB", mariaDBWriter, func(v values) []string {
		block := int64(1) << (v.sequence / 2)
		blocks := int64(1) << v.sequence / block
		var digits strings.Builder
		digits.WriteString("WITH d (i) AS (SELECT 0")
		for i := 1; i < 32; i++ {
			digits.WriteString(fmt.Sprint(" UNION ALL SELECT ", i))
		}
		return []string{
			"{enter}", sqldialect.MySQL.Quote(w.name() + "_enter"), "{sessions}", sqldialect.MySQL.Quote(w.name() + "_sessions"),
			"{with digits}", digits.String() + ")",
			"{stale}", n(max((50*time.Millisecond).Microseconds()/v.unit, 1)),
			"{block}", n(block), "{blocks}", n(blocks), "{some blocks}", n(max(blocks/4, 1)), "{some ids}", n(max(block/2, 1)),
			"{hash}", "CONV(LEFT(MD5(CONCAT_WS('/', @@hostname, @@port, @@GLOBAL.server_id, DATABASE(), " + w.born() + ", " + born(w.name()+"_sessions") + ")), 10), 16, 10)",
			// Proxies may copy the variables to another session or another server.
			"{me}", "BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID())",
			"{set now}", "SET STATEMENT time_zone = '+00:00' FOR SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO now",
		}
	})
}

func (w Writer) mysql() ([]string, error) {
	return w.fill("MySQL", mysqlWriter, func(v values) []string {
		return []string{
			"{reserve}", sqldialect.MySQL.Quote(w.name() + "_reserve"),
			"{with digits}", "WITH RECURSIVE d (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i < 31)",
			"{spread}", fmt.Sprint(max(int64(1)<<v.sequence/4, 1)),
			"{hash}", "CONV(LEFT(SHA2(CONCAT_WS('/', @@server_uuid, DATABASE(), " + w.born() + "), 256), 10), 16, 10)",
			"{multi-primary}", "(SELECT COUNT(*) = 2 FROM performance_schema.global_variables WHERE variable_name = 'group_replication_single_primary_mode' " +
				"AND variable_value = 'OFF' OR variable_name = 'group_replication_group_name' AND variable_value LIKE '%-%')",
			// A UUID of version 1 counts units of 100 ns since 1582.
			"{set now}", "SET id = UUID(), now = (CAST(CONV(CONCAT(SUBSTR(id, 16, 3), SUBSTR(id, 10, 4), SUBSTR(id, 1, 8)), 16, 10) AS SIGNED) - 122192928000000000) DIV 10",
		}
	})
}

// fill fills in a template of a server, which has the given words beside the common ones.
func (w Writer) fill(server, template string, words func(values) []string) ([]string, error) {
	if w.Schema != "" {
		return nil, fmt.Errorf("sqlgen: Schema is %.60q, and %s has none; leave it empty, and execute the SQL in the database of the lease tables", w.Schema, server)
	}
	v, err := w.values(1)
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.MySQL(nil).WithTable(w.table())
	if err != nil {
		return nil, fmt.Errorf("sqlgen: Table: %w", err)
	}
	quote := sqldialect.MySQL.Quote
	text := func(s string) string { return fmt.Sprintf("_ascii x'%x'", s) }
	pairs := append(v.pairs(),
		"{ns}", quote(w.table()+"_ns"), "{lease}", quote(w.table()), "{next}", quote(w.name()),
		"{counter}", quote(w.name()+"_counter"), "{history}", quote(w.name()+"_history"), "{history'}", "'"+w.name()+"_history'",
		"{token}", text("sql:"+w.name()), "{namespace}", text(v.namespace), "{layout}", text(v.layout),
	)
	for _, name := range []string{"of", "id", "end", "until", "limit", "last"} { // variables of a session
		pairs = append(pairs, "{v:"+name+"}", quote(w.name()+" "+name))
	}
	reserve, check, _ := strings.Cut(mysqlParts, "\n;;\n")
	template = strings.NewReplacer("{reserve the row}", reserve, "{check the tick}", strings.TrimSuffix(check, "\n")).Replace(template)
	return append(store.DDL(), sqldialect.Statements(strings.NewReplacer(append(pairs, words(v)...)...).Replace(template))...), nil
}

// born is when a table of the current database was created, in SQL.
func born(table string) string {
	return "(SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" + table + "')"
}

// born is when the tables of the leases and of the counter were created.
func (w Writer) born() string {
	return born(w.table()) + ", " + born(w.table()+"_ns") + ", " + born(w.name()+"_counter")
}
