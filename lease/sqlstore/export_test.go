package sqlstore

import (
	"maps"
	"strings"
)

// WithoutWaiting returns s with statements that commit as the server's default
// has it.
func WithoutWaiting(s *Store) *Store {
	d := *s.dialect
	d.words = maps.Clone(d.words)
	d.words["{write}"] = strings.Replace(d.words["{write}"], "set_config('synchronous_commit', 'on', true), ", "", 1)
	return &Store{db: s.db, dialect: &d, table: s.table}
}
