package sqlgen

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/session"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

//go:embed writer_mariadb.sql
var mariaDBWriter string

// MariaDB returns the statements that create the lease tables if they are missing,
// reserve the worker number, and create the functions. All of them can be executed again.
// They need MariaDB 10.6 or later, and must be executed in the database of the lease
// tables; Schema must be empty. MariaDB can't call the function in the default of a
// column, so each table needs a trigger, which [Writer.MySQLTrigger] returns. The error
// is an [*Error].
func (w Writer) MariaDB() ([]string, error) {
	if w.Schema != "" {
		return nil, &Error{"Schema", fmt.Sprintf("is %.60q, and MariaDB has none; leave it empty, and execute the SQL in the database of the lease tables", w.Schema)}
	}
	v, err := w.values(1)
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.MySQL(nil).WithTable(w.table())
	if err != nil {
		return nil, &Error{"Table", err.Error()}
	}
	quote := session.MySQL.Quote
	text := func(s string) string { return fmt.Sprintf("_ascii x'%x'", s) }
	n := func(v int64) string { return fmt.Sprint(v) }
	created := func(table string) string {
		return "(SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" + table + "')"
	}
	block := int64(1) << (v.sequence / 2)
	blocks := int64(1) << v.sequence / block
	var digits strings.Builder
	digits.WriteString("SELECT 0")
	for i := 1; i < 32; i++ {
		digits.WriteString(fmt.Sprint(" UNION ALL SELECT ", i))
	}
	pairs := append(v.pairs(),
		"{ns}", quote(w.table()+"_ns"), "{lease}", quote(w.table()), "{next}", quote(w.name()), "{enter}", quote(w.name()+"_enter"),
		"{counter}", quote(w.name()+"_counter"), "{history}", quote(w.name()+"_history"), "{history'}", "'"+w.name()+"_history'", "{sessions}", quote(w.name()+"_sessions"),
		"{token}", text("sql:"+w.name()), "{namespace}", text(v.namespace), "{layout}", text(v.layout), "{digits}", digits.String(),
		"{stale}", n(max((50*time.Millisecond).Microseconds()/v.unit, 1)),
		"{block}", n(block), "{blocks}", n(blocks), "{some blocks}", n(max(blocks/4, 1)), "{some ids}", n(max(block/2, 1)),
		"{hash}", "CONV(LEFT(MD5(CONCAT_WS('/', @@hostname, @@port, @@GLOBAL.server_id, DATABASE(), "+
			created(w.table())+", "+created(w.table()+"_ns")+", "+created(w.name()+"_counter")+", "+created(w.name()+"_sessions")+")), 10), 16, 10)",
		// Proxies may copy the variables to another session or another server.
		"{me}", "BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID())",
		"{set now}", "SET STATEMENT time_zone = '+00:00' FOR SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO now",
	)
	for _, name := range []string{"of", "id", "end", "until", "limit", "last"} {
		pairs = append(pairs, "{v:"+name+"}", quote(w.name()+" "+name))
	}
	statements := store.DDL()
	for each := range strings.SplitSeq(strings.NewReplacer(pairs...).Replace(mariaDBWriter), "\n;;\n") {
		statements = append(statements, strings.TrimSpace(each))
	}
	return statements, nil
}

// MariaDBDrop returns the statements that remove the functions. The worker number stays
// reserved, and the counter stays too, for the same reasons as on PostgreSQL.
func (w Writer) MariaDBDrop() []string {
	return []string{"DROP FUNCTION " + session.MySQL.Quote(w.name()), "DROP FUNCTION " + session.MySQL.Quote(w.name()+"_enter")}
}
