package sqlstore

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// DDL returns the statements [Store.Migrate] uses to create the tables, ready to be added
// to your own migrations. They have no effect on existing tables. DDL doesn't connect to
// the database.
func (s *Store) DDL() []string { return sqldialect.Statements(s.current.Load().fill("{tables}")) }

// Grants returns statements giving a role all the privileges the store needs once the
// tables exist. The role is a PostgreSQL role, or a MySQL user such as app@%, without
// quotes (Grants adds those). On PostgreSQL, the role also needs USAGE on the schema.
// Grants doesn't connect to the database.
func (s *Store) Grants(role string) []string {
	to, ofLease, ofNS := s.dialect.Quote(role), " (token, revision, bound, expires_at, label)", " (fingerprint, fence)"
	if s.dialect.IsMySQL() {
		// On MariaDB, INSERT … ON DUPLICATE KEY UPDATE needs UPDATE of every column that it
		// inserts.
		to, ofLease, ofNS = sqldialect.MySQLAccount(role), "", ""
	}
	return []string{
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE%s ON %s TO %s", ofLease, s.dialect.Table(s.table), to),
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE%s ON %s TO %s", ofNS, s.dialect.Table(s.table+"_ns"), to),
	}
}

// Namespaces returns the names of all namespaces that have a layout or a row.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	names, err := list(ctx, s, "{namespaces}", args{}, func(name *string) []any { return []any{name} })
	for i := range names {
		names[i] = sqldialect.FromASCII(names[i])
	}
	return names, err
}
