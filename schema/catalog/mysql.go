package catalog

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// sequenceDefault matches the name of the sequence in the default of a column. MariaDB
// always qualifies this name with the schema.
var sequenceDefault = regexp.MustCompile("(?i)\\bnextval\\((`(?:[^`]|``)*`\\.`(?:[^`]|``)*`)\\)")

// joinMySQL completes the keys by what all keys of a table have. Since joins of the information
// schema are slow on MySQL and on MariaDB, we join it here.
func (c *catalog) joinMySQL(ctx context.Context, tables []Key, grants []string) error {
	of := make(map[Name]Key)
	for _, t := range tables {
		of[t.Column.Table] = t
	}
	for i, t := range c.columns { // of a view, or in a schema that isn't inspected
		if _, ok := of[t.Table]; !ok {
			c.columns[i].kind = "other"
		}
	}
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
	c.hidden("inspect as an account with SELECT and TRIGGER on *.*",
		"the account %s does not have %s on *.*, and the server shows an account only what was granted to it: tables, foreign keys from other databases or triggers may be missing here", account, strings.Join(missing, ", "))
	return err
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
