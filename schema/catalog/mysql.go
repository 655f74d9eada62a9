package catalog

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// sequenceDefault matches the name of the sequence in the default of a column. MariaDB
// always qualifies this name with the schema.
var sequenceDefault = regexp.MustCompile("(?i)\\bnextval\\((`(?:[^`]|``)*`\\.`(?:[^`]|``)*`)\\)")

// joinMySQL completes what was read. Since joins of the information schema are slow on MySQL
// and on MariaDB, we join its tables here.
func (c *catalog) joinMySQL(ctx context.Context) error {
	var inspected, grants []string
	var rules []link
	var tables []Key // with what all keys of the table have
	for _, schema := range c.inspected {
		inspected = append(inspected, c.Literal(schema))
	}
	err := database.ReadAll(ctx, c.conn,
		database.Into(&rules, c.query("rules"), func(l *link) []any {
			return []any{&l.constraint, &l.whole.OnUpdate, &l.whole.OnDelete, &l.whole.Valid}
		}),
		database.Into(&tables, strings.ReplaceAll(c.query("tables"), "{inspected}", strings.Join(inspected, ", ")), func(k *Key) []any {
			return []any{&k.Column.Table.Schema, &k.Column.Table.Name, database.ScanInt(&k.Counter.next), &k.Counter.Step, &k.Partitioned}
		}),
		database.Into(&grants, "SHOW GRANTS", database.Text),
	)
	if err != nil {
		return err
	}
	c.joinConstraints(rules)

	of := make(map[Name]Key)
	for _, t := range tables {
		of[t.Column.Table] = t
	}
	c.columns = slices.DeleteFunc(c.columns, func(column Column) bool { _, ok := of[column.Table]; return !ok })
	var keys []Key
	for _, k := range c.keys {
		t, ok := of[k.Column.Table]
		k.Partitioned = t.Partitioned
		match := sequenceDefault.FindStringSubmatch(k.Default)
		switch {
		case k.Mechanism == AutoIncrement:
			k.Counter, k.Default = t.Counter, ""
			k.Counter.top = power(64)
		case match != nil && c.Dialect == MariaDB:
			name := ddl.Names(match[1], false)[0]
			k.Counter.Sequence = Name{name[0], name[1]}
			ok = ok || slices.Contains(c.inspected, name[0]) // otherwise the sequence may be dropped meanwhile
		default:
			ok = false
		}
		if ok {
			keys = append(keys, k)
		}
	}
	c.keys = keys
	missing := missingGrants(grants)
	if len(missing) == 0 {
		return nil
	}
	account, err := database.One(ctx, c.conn, "SELECT CURRENT_USER()", database.Text)
	c.hidden(fmt.Sprintf("the account %s does not have %s on *.*, and the server shows an account only what was granted to it: tables, foreign keys from other databases or triggers may be missing here",
		account, strings.Join(missing, ", ")), "inspect as an account with SELECT and TRIGGER on *.*")
	return err
}

// joinConstraints completes the foreign keys, and takes the primary keys from among them.
func (c *catalog) joinConstraints(rules []link) {
	whole := make(map[string]Reference)
	for _, r := range rules {
		whole[r.constraint] = r.whole
	}
	known := make(map[Column]Column)
	for _, column := range c.columns {
		known[c.fold(column)] = column
	}
	find := func(column Column) Column {
		if found, ok := known[c.fold(column)]; ok {
			return found
		}
		return column // the table was created or dropped since we read the columns
	}
	var links []link
	for _, l := range c.links {
		l.Child = find(l.Child)
		if l.Parent.Name == "" {
			c.primary[l.Child.Table] = append(c.primary[l.Child.Table], l.Child.Name)
			continue
		}
		l.Parent, l.whole = find(l.Parent), whole[l.constraint]
		links = append(links, l)
	}
	c.links = links
}

// missingGrants returns the privileges that the account would still need to see
// everything.
func missingGrants(grants []string) []string {
	var granted strings.Builder
	for _, grant := range grants {
		if strings.HasPrefix(grant, "REVOKE ") { // MySQL's partial_revokes
			return []string{"unrestricted SELECT"}
		}
		if privileges, _, everywhere := strings.Cut(grant, " ON *.* TO "); everywhere {
			granted.WriteString(", " + strings.TrimPrefix(privileges, "GRANT ") + ",")
		}
	}
	has := func(privilege string) bool { return strings.Contains(granted.String(), ", "+privilege+",") }
	return slices.DeleteFunc([]string{"SELECT", "TRIGGER"}, func(p string) bool { return has(p) || has("ALL PRIVILEGES") })
}
