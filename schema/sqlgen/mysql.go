package sqlgen

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/session"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

//go:embed writer_mysql.sql
var mysqlWriter string

// MySQL returns the statements that create the lease tables if they are missing, reserve
// the worker number, and create the function. All of them can be executed again. They
// need MySQL 8.0 or later, and must be executed in the database of the lease tables;
// Schema must be empty. MySQL can't call the function in the default of a column, so each
// table needs a trigger, which [Writer.MySQLTrigger] returns. If the server has a binary
// log, creating both needs SUPER, or log_bin_trust_function_creators. The error is an
// [*Error].
func (w Writer) MySQL() ([]string, error) {
	if w.Schema != "" {
		return nil, &Error{"Schema", fmt.Sprintf("is %.60q, and MySQL has none; leave it empty, and execute the SQL in the database of the lease tables", w.Schema)}
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
	created := func(table string) string {
		return "(SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" + table + "')"
	}
	pairs := append(v.pairs(),
		"{ns}", quote(w.table()+"_ns"), "{lease}", quote(w.table()), "{next}", quote(w.name()), "{reserve}", quote(w.name()+"_reserve"),
		"{counter}", quote(w.name()+"_counter"), "{history}", quote(w.name()+"_history"), "{history'}", "'"+w.name()+"_history'",
		"{token}", text("sql:"+w.name()), "{namespace}", text(v.namespace), "{layout}", text(v.layout),
		"{spread}", fmt.Sprint(max(int64(1)<<v.sequence/4, 1)),
		"{hash}", "CONV(LEFT(SHA2(CONCAT_WS('/', @@server_uuid, DATABASE(), "+
			created(w.table())+", "+created(w.table()+"_ns")+", "+created(w.name()+"_counter")+"), 256), 10), 16, 10)",
		"{multi-primary}", "(SELECT COUNT(*) = 2 FROM performance_schema.global_variables WHERE variable_name = 'group_replication_single_primary_mode' "+
			"AND variable_value = 'OFF' OR variable_name = 'group_replication_group_name' AND variable_value LIKE '%-%')",
		// A UUID of version 1 counts units of 100 ns since 1582.
		"{set now}", "SET id = UUID(), now = (CAST(CONV(CONCAT(SUBSTR(id, 16, 3), SUBSTR(id, 10, 4), SUBSTR(id, 1, 8)), 16, 10) AS SIGNED) - 122192928000000000) DIV 10",
		"{v:of}", quote(w.name()+" of"), "{v:limit}", quote(w.name()+" limit"), "{v:last}", quote(w.name()+" last"),
	)
	statements := store.DDL()
	for each := range strings.SplitSeq(strings.NewReplacer(pairs...).Replace(mysqlWriter), "\n;;\n") {
		statements = append(statements, strings.TrimSpace(each))
	}
	return statements, nil
}

// MySQLDrop returns the statement that removes the function. The worker number stays
// reserved, and the counter stays too, for the same reasons as on PostgreSQL.
func (w Writer) MySQLDrop() []string {
	return []string{"DROP FUNCTION " + session.MySQL.Quote(w.name())}
}

// MySQLTrigger returns the statement that creates a trigger of MariaDB or MySQL, which
// fills the column of a table if it is 0 or NULL. The trigger makes ids with the privileges of its creator.
func (w Writer) MySQLTrigger(table, column string) string {
	c, next := session.MySQL.Quote(column), session.MySQL.Quote(w.name())
	return fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW\nSET NEW.%s = IF(COALESCE(NEW.%s, 0) = 0, %s(), NEW.%s)",
		session.MySQL.Quote(table+"_"+column), session.MySQL.Quote(table), c, c, next, c)
}

// MySQLGrants returns the statement that allows a user of MariaDB or MySQL such as app@%
// to call the function. A user that only inserts into tables with the trigger doesn't need it.
func (w Writer) MySQLGrants(role string) []string {
	user, host := role, "%"
	if i := strings.LastIndex(role, "@"); i >= 0 {
		user, host = role[:i], role[i+1:]
	}
	return []string{fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s TO %s@%s", session.MySQL.Quote(w.name()), quoteText(user), quoteText(host))}
}

func quoteText(text string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(text) + "'"
}
