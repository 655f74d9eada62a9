package sqlstore

import (
	"context"

	"github.com/snowkey-go/snowkey/lease"
)

// Examine implements [lease.Store]. It looks for settings of the server and the two
// tables that could turn a crash or failover into more than the loss of the last few
// commits.
//
//	not-flushed  a crash of the machine may damage the database (Postgres: fsync; MySQL: innodb_doublewrite)
//	unlogged     a table is emptied by a crash, and not replicated (Postgres)
//	engine       a table is not kept by InnoDB (MySQL, MariaDB)
//	read-only    the server accepts no writes, so leases cannot be renewed
//
// Examine works with the same privileges as a claim. Anything the server doesn't know is
// left out.
func (s *Store) Examine(ctx context.Context) ([]lease.Finding, error) {
	var all []lease.Finding
	for _, kind := range []string{"not-flushed", "unlogged", "engine", "read-only"} {
		query, ok := s.words[kind]
		if !ok {
			continue // the server has none of this kind
		}
		found, err := read(ctx, s, s.current.Load(), "{to primary}"+query, nil, func(f *lease.Finding) []any { return []any{&f.Kind, &f.Text, &f.Remedy} })
		if err != nil && !s.dialect.Unknown(err) {
			return nil, s.explain(err)
		}
		all = append(all, found...)
	}
	return all, nil
}
