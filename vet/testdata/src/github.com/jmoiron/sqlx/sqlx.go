// Package sqlx stands for sqlx.
package sqlx

import "context"

type DB struct{}

func (db *DB) NamedExec(query string, arg any) (any, error) { return nil, nil }
func (db *DB) NamedExecContext(ctx context.Context, query string, arg any) (any, error) {
	return nil, nil
}
