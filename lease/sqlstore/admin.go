package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// DDL returns the statements with which [Store.Migrate] creates the tables, so that you
// can add them to your own migration. If the tables exist, the statements change
// nothing. DDL does not use the database. It returns nil for the zero Store.
func (s *Store) DDL() []string {
	if s == nil || s.dialect == nil {
		return nil
	}
	var statements []string
	for _, text := range s.dialect.ddl {
		statements = append(statements, strings.TrimSpace(s.words().Replace(text)))
	}
	return statements
}

// Grants returns the statements that give a role all privileges that the store needs
// once the tables exist. The role is a role of PostgreSQL, or a user of MySQL such as
// app@%. Grants adds the quotes. On PostgreSQL, the role also needs USAGE of the
// schema. Grants does not use the database.
func (s *Store) Grants(role string) []string {
	if s == nil || s.dialect == nil {
		return nil
	}
	lease, ns := s.dialect.Quote(s.table), s.dialect.Quote(s.table+"_ns")
	switch s.dialect {
	case postgres:
		to := `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
		return []string{
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE (token, revision, bound, expires_at, label) ON %s TO %s", lease, to),
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE (fingerprint, fence) ON %s TO %s", ns, to),
		}
	case mysql:
		// On MariaDB, INSERT … ON DUPLICATE KEY UPDATE needs UPDATE of every column that it
		// inserts.
		user, host := role, "%"
		if i := strings.LastIndex(role, "@"); i >= 0 {
			user, host = role[:i], role[i+1:]
		}
		to := quoteText(user) + "@" + quoteText(host)
		return []string{
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON %s TO %s", lease, to),
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON %s TO %s", ns, to),
		}
	default:
		return nil
	}
}

// quoteText quotes a string for MySQL. It doubles backslashes, because that's what a
// session without NO_BACKSLASH_ESCAPES expects.
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
		names[i] = sqlsession.FromASCII(names[i])
	}
	return names, err
}
