package sqlc

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	. "github.com/snowkey-go/snowkey/internal/waytest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/sqlc/pgx"
)

// write fills in the parameters of a method and calls it, once for each row. It returns
// the results of the calls, and the rows with their keys.
func (c client) write(t *testing.T, method string, rows []Row) (results []any, _ []Row, _ error) {
	for i, r := range rows {
		params := c.params(method, map[string]any{"ID": pk.ID(r.ID), "Name": r.Name, "N": r.N})
		if err := c.filler.Fill(t.Context(), params.Interface()); err != nil {
			return nil, nil, err
		}
		result, err := c.call(t, method, params.Elem().Interface())
		if err != nil {
			return nil, nil, err
		}
		rows[i].ID = params.Elem().FieldByName("ID").Int()
		results = append(results, result)
	}
	return results, rows, nil
}

// ways returns the ways of a client. begin must return a client that uses a new
// transaction.
func (c client) ways(t *testing.T, begin func() (client, func() error, error)) []Way {
	create := func(_ context.Context, rows []Row) ([]Row, error) {
		_, rows, err := c.write(t, "CreateUser", rows)
		return rows, err
	}
	return []Way{
		{Kind: One, Call: "`sqlid.Fill(ctx, &user)`, `CreateUser(ctx, user)`", Want: Agrees, Create: create},
		{Kind: One, Call: "`CreateUser(ctx, user)` without `Fill`, and `CHECK (id > 0)`", Want: Refused, Create: func(_ context.Context, rows []Row) ([]Row, error) {
			_, err := c.call(t, "CreateUser", c.params("CreateUser", map[string]any{"Name": rows[0].Name}).Elem().Interface())
			return nil, err
		}},
		{Kind: Upsert, Call: "`Fill`, `UpsertUser` as `:one` with `RETURNING id`; on MySQL and MariaDB as `:exec`, then a SELECT of the id", Want: Agrees, Create: func(_ context.Context, rows []Row) ([]Row, error) {
			results, rows, err := c.write(t, "UpsertUser", rows)
			for i, id := range results {
				if id == nil {
					if id, err = c.call(t, "UserID", rows[i].Name); err != nil {
						return nil, err
					}
				}
				rows[i].ID = id.(pk.ID).Int64()
			}
			return rows, err
		}},
		{Kind: Ignore, Call: "`Fill`, `IgnoreUser` as `:execrows`; a row that was left out returns 0", Want: Agrees, Create: func(_ context.Context, rows []Row) ([]Row, error) {
			results, rows, err := c.write(t, "IgnoreUser", rows)
			for i, n := range results {
				if n == int64(0) {
					rows[i].ID = 0
				}
			}
			return rows, err
		}},
		{Kind: Preset, Call: "`Fill`, `CreateUser`", Want: Agrees, Create: create},
		{Kind: Rollback, Call: "`queries.WithTx(tx)`, `Fill`, `CreateUser`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			inTx, rollback, err := begin()
			if err != nil {
				return nil, err
			}
			_, rows, err = inTx.write(t, "CreateUser", rows)
			if err := errors.Join(err, rollback()); err != nil {
				return nil, err
			}
			return create(ctx, rows)
		}},
	}
}

// bulkWays returns the ways that only exist in clients for pgx.
func bulkWays(q *pgx.Queries, filler *sqlid.Filler) []Way {
	return []Way{
		{Kind: Slice, Call: "pgx: `Fill(ctx, users)`, `CopyUsers(ctx, users)` as `:copyfrom`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			var users []pgx.CopyUsersParams
			for _, r := range rows {
				users = append(users, pgx.CopyUsersParams{ID: pk.ID(r.ID), Name: r.Name, N: r.N})
			}
			if err := filler.Fill(ctx, users); err != nil {
				return nil, err
			}
			for i := range users {
				rows[i].ID = users[i].ID.Int64()
			}
			_, err := q.CopyUsers(ctx, users)
			return rows, err
		}},
		{Kind: Slice, Call: "pgx: `Fill(ctx, users)`, `BatchUsers(ctx, users)` as `:batchexec`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			var users []pgx.BatchUsersParams
			for _, r := range rows {
				users = append(users, pgx.BatchUsersParams{ID: pk.ID(r.ID), Name: r.Name, N: r.N})
			}
			if err := filler.Fill(ctx, users); err != nil {
				return nil, err
			}
			for i := range users {
				rows[i].ID = users[i].ID.Int64()
			}
			var errs []error
			q.BatchUsers(ctx, users).Exec(func(_ int, err error) { errs = append(errs, err) })
			return rows, errors.Join(errs...)
		}},
	}
}

func (c client) withTx(tx any) any {
	return reflect.ValueOf(c.queries).MethodByName("WithTx").Call([]reflect.Value{reflect.ValueOf(tx)})[0].Interface()
}

func TestPageHasTheWays(t *testing.T) {
	ways := client{}.ways(t, nil)
	ways = append(ways[:2:2], append(bulkWays(nil, nil), ways[2:]...)...)
	CheckPage(t, "README.md", "## Ways", ways)
}
