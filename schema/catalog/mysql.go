package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
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
	if s.Dialect == MySQL { // whose information schema may otherwise return counters of yesterday
		restore, err := s.Set(ctx, conn, [2]string{"information_schema_stats_expiry", "0"})
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	c := &catalog{foldTable: exact, foldColumn: strings.ToLower, primary: make(map[Name][]string)}
	var columns []mysqlColumn
	var links, rules []link
	var grants []string
	set, err := database.One(ctx, conn, s.query("settings"), func(s *mysqlSetting) []any {
		return []any{&s.database, &s.step, &s.offset, &s.foldsTables, &s.account}
	})
	if err == nil {
		err = database.ReadAll(ctx, conn,
			database.Into(&c.schemas, s.query("schemas"), database.Text),
			database.Into(&columns, s.query("columns"), (*mysqlColumn).dest),
			database.Into(&links, s.query("constraints"), func(l *link) []any {
				return slices.Concat([]any{&l.constraint, &l.Name}, l.Child.path(), l.Parent.path())
			}),
			database.Into(&rules, s.query("rules"), func(l *link) []any {
				return []any{&l.constraint, &l.whole.OnUpdate, &l.whole.OnDelete, &l.whole.Valid}
			}),
			database.Into(&c.triggers, s.query("triggers"), (*Trigger).dest),
			database.Into(&grants, "SHOW GRANTS", database.Text),
		)
	}
	if err != nil {
		return nil, err
	}
	if set.foldsTables != 0 {
		c.foldTable = strings.ToLower
	}
	switch c.inspected = c.schemas; {
	case len(wanted) > 0:
		c.inspected = wanted
	case set.database != "":
		c.inspected = []string{set.database}
	}
	c.addMySQLConstraints(columns, links, rules)
	if missing := missingGrants(grants); len(missing) > 0 {
		c.unseen = append(c.unseen, Finding{
			Kind: Unseen, Severity: Warning,
			Text: fmt.Sprintf("the account %s does not have %s on *.*, and the server shows an account only what was granted to it: tables, foreign keys from other databases or triggers may be missing here",
				set.account, strings.Join(missing, ", ")),
			Remedy: "inspect as an account with SELECT and TRIGGER on *.*",
		})
	}
	return c, s.readMySQLKeys(ctx, conn, c, columns, set)
}

type mysqlColumn struct {
	Column
	counts     bool
	expression string // the column's default
}

func (c *mysqlColumn) dest() []any {
	return append(c.Column.dest(MySQL), &c.counts, &c.expression)
}

// addMySQLConstraints adds the foreign keys and the primary keys to c. Since joins of the
// information schema are slow on MySQL and on MariaDB, we join its tables here.
func (c *catalog) addMySQLConstraints(columns []mysqlColumn, links, rules []link) {
	whole := make(map[string]Reference)
	for _, r := range rules {
		whole[r.constraint] = r.whole
	}
	known := make(map[place]Column)
	for _, column := range columns {
		known[c.place(column.Table, column.Name)] = column.Column
	}
	find := func(column Column) Column {
		if found, ok := known[c.place(column.Table, column.Name)]; ok {
			return found
		}
		return column // the table was created or dropped since we read the columns
	}
	for _, l := range links {
		l.Child = find(l.Child)
		if l.Parent.Name == "" {
			c.primary[l.Child.Table] = append(c.primary[l.Child.Table], l.Child.Name)
			continue
		}
		l.Parent, l.whole = find(l.Parent), whole[l.constraint]
		c.links = append(c.links, l)
	}
}

// sequenceDefault matches the name of the sequence in the default of a column. MariaDB
// always qualifies this name with the schema.
var sequenceDefault = regexp.MustCompile("(?i)\\bnextval\\((`(?:[^`]|``)*`\\.`(?:[^`]|``)*`)\\)")

func (s server) readMySQLKeys(ctx context.Context, conn *sql.Conn, c *catalog, columns []mysqlColumn, set mysqlSetting) error {
	type table struct {
		name        Name
		next        *big.Int
		partitioned bool
	}
	tables := make(map[Name]table)
	for _, schema := range c.inspected {
		found, err := database.List(ctx, conn, s.query("tables"), func(t *table) []any {
			return []any{&t.name.Schema, &t.name.Name, database.ScanInt(&t.next), &t.partitioned}
		}, schema)
		if err != nil {
			return err
		}
		for _, t := range found {
			tables[t.name] = t
		}
	}
	sequences := make(map[Name]Counter)
	for _, column := range columns {
		t, ok := tables[column.Table]
		if ok {
			c.columns = append(c.columns, column.Column)
		}
		k := Key{Column: column.Column, Partitioned: t.partitioned}
		match := sequenceDefault.FindStringSubmatch(column.expression)
		switch {
		case column.counts && ok:
			k.Mechanism = AutoIncrement
			// MySQL returns NULL if the counter has never been used.
			k.Counter = Counter{next: cmp.Or(t.next, big.NewInt(set.offset)), Step: set.step, top: power(64)}
		case match != nil && s.Dialect == MariaDB:
			k.Mechanism, k.Default = SequenceDefault, column.expression
			name := ddl.Names(match[1], false)[0]
			sequence := Name{name[0], name[1]}
			if !ok && !slices.Contains(c.inspected, sequence.Schema) {
				continue // another database's own sequence, which may be dropped meanwhile
			}
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
	var low *big.Int
	_, err := database.One(ctx, conn, "SELECT next_not_cached_value, minimum_value, maximum_value, increment FROM "+s.name(name), func(*struct{}) []any {
		return []any{database.ScanInt(&counter.next), database.ScanInt(&low), database.ScanInt(&counter.top), &counter.Step}
	})
	if err != nil {
		c.unseen = append(c.unseen, Finding{
			Kind: Unseen, Severity: Warning,
			Text:   fmt.Sprintf("the sequence %s cannot be read, so that its counter is not known: %v", s.name(name), err),
			Remedy: fmt.Sprintf("GRANT SELECT ON %s to this account", s.name(name)),
		})
		return counter
	}
	if counter.Step < 0 {
		counter.top = low
	}
	return counter
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
	for _, privilege := range []string{"SELECT", "TRIGGER"} {
		if !has[privilege] {
			missing = append(missing, privilege)
		}
	}
	return missing
}
