package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

const (
	mysqlSchemas = `SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ` + database.MySQLSystem + ` ORDER BY SCHEMA_NAME`

	mysqlSettings = `SELECT COALESCE(DATABASE(), ''), @@auto_increment_increment, @@auto_increment_offset, @@lower_case_table_names, CURRENT_USER()`

	mysqlColumns = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE, EXTRA LIKE '%auto_increment%', COALESCE(COLUMN_DEFAULT, '')
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem

	// Joins of these tables are slow on MySQL and on MariaDB, so we join them in Go
	// instead.
	mysqlConstraints = `SELECT CONSTRAINT_SCHEMA, CONSTRAINT_NAME, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME,
	COALESCE(REFERENCED_TABLE_SCHEMA, ''), COALESCE(REFERENCED_TABLE_NAME, ''), COALESCE(REFERENCED_COLUMN_NAME, '')
FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` AND (REFERENCED_TABLE_NAME IS NOT NULL OR CONSTRAINT_NAME = 'PRIMARY')
ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`

	mysqlTables = `SELECT TABLE_SCHEMA, TABLE_NAME, CAST(AUTO_INCREMENT AS CHAR), COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%'
FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')`

	mysqlViews = `SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '') FROM information_schema.VIEWS
WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` ORDER BY TABLE_SCHEMA, TABLE_NAME`

	mysqlTriggers = `SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME, CONCAT(ACTION_TIMING, ' ', EVENT_MANIPULATION)
FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA NOT IN ` + database.MySQLSystem + ` ORDER BY EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME`
)

type mysqlSetting struct {
	database     string
	step, offset int64
	foldsTables  int
	account      string
}

// readMySQL reads the information schema. There's no point in a transaction here,
// because the information schema doesn't take part in one.
func (s server) readMySQL(ctx context.Context, conn *sql.Conn, wanted []string) (*catalog, error) {
	if s.Dialect == MySQL {
		restore, err := freshStatistics(ctx, conn)
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	set, err := database.One(ctx, conn, mysqlSettings, func(s *mysqlSetting) []any {
		return []any{&s.database, &s.step, &s.offset, &s.foldsTables, &s.account}
	})
	if err != nil {
		return nil, err
	}
	c := &catalog{foldTable: exact, foldColumn: exact} // column names always have the spelling of their tables
	if set.foldsTables != 0 {
		c.foldTable = strings.ToLower
	}
	if c.schemas, err = database.List(ctx, conn, mysqlSchemas, database.Text); err != nil {
		return nil, err
	}
	c.inspected = c.schemas
	if set.database != "" {
		c.inspected = []string{set.database}
	}
	if len(wanted) > 0 {
		c.inspected = wanted
	}
	columns, err := database.List(ctx, conn, mysqlColumns, (*mysqlColumn).dest)
	if err != nil {
		return nil, err
	}
	primary, err := s.readMySQLConstraints(ctx, conn, c, columns)
	if err != nil {
		return nil, err
	}
	if err := s.readMySQLKeys(ctx, conn, c, columns, primary, set); err != nil {
		return nil, err
	}
	if err := s.readMySQLViews(ctx, conn, c); err != nil {
		return nil, err
	}
	if c.triggers, err = database.List(ctx, conn, mysqlTriggers, (*Trigger).dest); err != nil {
		return nil, err
	}
	grants, err := database.List(ctx, conn, "SHOW GRANTS", database.Text)
	if err != nil {
		return nil, err
	}
	if missing := missingGrants(grants); len(missing) > 0 {
		privileges := strings.Join(missing, ", ")
		c.unseen = append(c.unseen, Finding{
			Kind: Unseen, Severity: Warning,
			Text:   fmt.Sprintf("the account %s does not have %s on *.*, and the server shows an account only what was granted to it: tables, foreign keys from other databases, triggers or views may be missing here", set.account, privileges),
			Remedy: "inspect as an account with SELECT, TRIGGER and SHOW VIEW on *.*",
		})
	}
	return c, nil
}

// freshStatistics makes MySQL read the counters from the tables themselves. Otherwise
// its information schema may return values that are up to a day old.
func freshStatistics(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	before, err := database.One(ctx, conn, "SELECT @@SESSION.information_schema_stats_expiry", database.Number)
	if err != nil {
		return nil, err
	}
	set := func(ctx context.Context, seconds int64) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION information_schema_stats_expiry = %d", seconds))
		return err
	}
	if err := set(ctx, 0); err != nil {
		return nil, fmt.Errorf("catalog: reading the catalog: %w", err)
	}
	return func() { _ = set(context.WithoutCancel(ctx), before) }, nil // if this fails, the connection is unusable anyway
}

type mysqlColumn struct {
	Column
	counts     bool
	expression string // the column's default
}

func (c *mysqlColumn) dest() []any {
	return slices.Concat(c.path(), []any{&c.Type, typed(MySQL, &c.Column), &c.counts, &c.expression})
}

// readMySQLConstraints adds the foreign keys to c and returns the columns of all
// primary keys.
func (s server) readMySQLConstraints(ctx context.Context, conn *sql.Conn, c *catalog, columns []mysqlColumn) (primary []Column, err error) {
	type usage struct {
		schema, name  string
		child, parent Column
	}
	usages, err := database.List(ctx, conn, mysqlConstraints, func(u *usage) []any {
		return slices.Concat([]any{&u.schema, &u.name}, u.child.path(), u.parent.path())
	})
	if err != nil {
		return nil, err
	}
	known := make(map[place]Column)
	for _, column := range columns {
		known[c.place(column.Table, column.Name)] = column.Column
	}
	for _, u := range usages {
		child, ok := known[c.place(u.child.Table, u.child.Name)]
		if !ok {
			child = u.child // the table was created or dropped since we read the columns
		}
		if u.parent.Name == "" {
			primary = append(primary, child)
			continue
		}
		parent, ok := known[c.place(u.parent.Table, u.parent.Name)]
		if !ok {
			parent = u.parent
		}
		c.links = append(c.links, link{
			constraint: fmt.Sprintf("%q %q", u.schema, u.name),
			// InnoDB creates an index for every foreign key, and doesn't allow dropping
			// it.
			ForeignKey: ForeignKey{Name: u.name, Child: child, Parent: parent, Indexed: true},
		})
	}
	return primary, nil
}

// sequenceDefault matches the name of the sequence in the default of a column. MariaDB
// always qualifies this name with the schema.
var sequenceDefault = regexp.MustCompile("(?i)\\bnextval\\((`(?:[^`]|``)*`\\.`(?:[^`]|``)*`)\\)")

func (s server) readMySQLKeys(ctx context.Context, conn *sql.Conn, c *catalog, columns []mysqlColumn, primary []Column, set mysqlSetting) error {
	type table struct {
		name        Name
		next        sql.Null[string]
		partitioned bool
	}
	tables := make(map[Name]table)
	for _, schema := range c.inspected {
		found, err := database.List(ctx, conn, mysqlTables, func(t *table) []any {
			return []any{&t.name.Schema, &t.name.Name, &t.next, &t.partitioned}
		}, schema)
		if err != nil {
			return err
		}
		for _, t := range found {
			tables[t.name] = t
		}
	}
	c.primary = byTable(primary)
	sequences := make(map[Name]Counter)
	for _, column := range columns {
		t, ok := tables[column.Table]
		if ok && (column.Bits > 0 || column.byHand()) {
			c.numbers = append(c.numbers, column.Column)
		}
		k := Key{Column: column.Column, Partitioned: t.partitioned}
		match := sequenceDefault.FindStringSubmatch(column.expression)
		switch {
		case column.counts && ok:
			k.Mechanism = AutoIncrement
			// MySQL returns NULL if the counter has never been used.
			k.Counter = Counter{next: newNumber(set.offset), Step: set.step, start: newNumber(set.offset), top: power(64)}
			if t.next.Valid {
				next, err := parseNumber(t.next.V)
				if err != nil {
					return err
				}
				k.Counter.next = next
			}
		case match != nil && s.Dialect == MariaDB:
			k.Mechanism, k.Default = SequenceDefault, column.expression
			name := ddl.Names(match[1], false)[0]
			sequence := Name{name[0], name[1]}
			counter, known := sequences[sequence]
			if !known {
				counter = s.readMariaDBSequence(ctx, conn, c, sequence)
				sequences[sequence] = counter
			}
			k.Counter = counter
		default:
			continue
		}
		k.PrimaryKey = c.primary[column.Table]
		c.keys = append(c.keys, k)
	}
	return nil
}

// readMariaDBSequence reads the state of a sequence. The next number that it returns is
// above any number that a connection may have cached.
func (s server) readMariaDBSequence(ctx context.Context, conn *sql.Conn, c *catalog, name Name) Counter {
	counter := Counter{Sequence: name}
	var next, low, high int64
	_, err := database.One(ctx, conn, "SELECT next_not_cached_value, minimum_value, maximum_value, increment FROM "+s.name(name),
		func(*struct{}) []any { return []any{&next, &low, &high, &counter.Step} })
	if err != nil {
		c.unseen = append(c.unseen, Finding{
			Kind: Unseen, Severity: Warning,
			Text:   fmt.Sprintf("the sequence %s cannot be read, so that its counter is not known: %v", s.name(name), err),
			Remedy: fmt.Sprintf("GRANT SELECT ON %s to this account", s.name(name)),
		})
		return counter
	}
	if counter.Step < 0 {
		low, high = high, low
	}
	counter.next, counter.start, counter.top = newNumber(next), newNumber(low), newNumber(high)
	return counter
}

// readMySQLViews reads the definitions of the views. We can rely on qualified names
// here, because that's how the server writes them.
func (s server) readMySQLViews(ctx context.Context, conn *sql.Conn, c *catalog) error {
	type view struct {
		name       Name
		definition string
	}
	views, err := database.List(ctx, conn, mysqlViews, func(v *view) []any { return []any{&v.name.Schema, &v.name.Name, &v.definition} })
	if err != nil {
		return err
	}
	for _, v := range views {
		var tables []Name
		var columns []string
		for _, n := range ddl.Names(v.definition, true) {
			// A table is written as database.table. A column has another part in front
			// of its name, or follows an alias.
			if len(n) == 2 {
				tables = append(tables, Name{n[0], n[1]})
			}
			if len(n) > 1 {
				columns = append(columns, n[len(n)-1])
			}
		}
		for _, table := range tables {
			c.uses = append(c.uses, use{view: View{Name: v.name}, table: table, columns: columns})
		}
	}
	return nil
}

// missingGrants returns the privileges that the account would still need to see
// everything.
func missingGrants(grants []string) (missing []string) {
	everywhere := regexp.MustCompile(`^GRANT (.*) ON \*\.\* TO `)
	has := make(map[string]bool)
	for _, grant := range grants {
		if strings.HasPrefix(grant, "REVOKE ") { // MySQL's partial_revokes
			return []string{"unrestricted SELECT"}
		}
		if match := everywhere.FindStringSubmatch(grant); match != nil {
			for privilege := range strings.SplitSeq(match[1], ",") {
				has[strings.TrimSpace(privilege)] = true
			}
		}
	}
	if has["ALL PRIVILEGES"] {
		return nil
	}
	for _, privilege := range []string{"SELECT", "TRIGGER", "SHOW VIEW"} {
		if !has[privilege] {
			missing = append(missing, privilege)
		}
	}
	return missing
}
