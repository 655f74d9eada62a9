package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/session"
)

// DDL returns the statements with which [Store.Migrate] creates the tables, for a
// migration of your own. They change nothing if the tables exist. DDL does not use the
// database.
func (s *Store) DDL() []string {
	var statements []string
	for _, text := range s.dialect.ddl {
		statements = append(statements, strings.TrimSpace(s.words().Replace(text)))
	}
	return statements
}

// Grants returns the statements that give a role the privileges which the store needs
// when the tables exist. The role is a role of PostgreSQL, or a user of MySQL such as
// app@%, and is quoted. SQLite has no privileges, so Grants returns none. Grants does not
// use the database. On PostgreSQL the role also needs USAGE of the schema.
func (s *Store) Grants(role string) []string {
	if s.dialect == sqlite {
		return nil
	}
	var to string
	if s.dialect == postgres {
		to = `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	} else {
		user, host, ok := cutLast(role, "@")
		if !ok {
			host = "%"
		}
		to = quoteText(user) + "@" + quoteText(host)
	}
	lease, ns := s.dialect.Quote(s.table), s.dialect.Quote(s.table+"_ns")
	statements := []string{
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE (token, revision, bound, expires_at, label) ON %s TO %s", lease, to),
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE (fingerprint, fence) ON %s TO %s", ns, to),
	}
	return statements
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// quoteText quotes a text for MySQL, with or without the escapes of the backslash.
func quoteText(text string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(text) + "'"
}

// Namespaces returns the names of all namespaces that have a layout or a row.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	names, err := list(ctx, s, namespacesText, args{}, func(name *string) []any { return []any{name} })
	for i := range names {
		names[i] = session.FromASCII(names[i])
	}
	return names, err
}
