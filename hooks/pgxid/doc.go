// Package pgxid helps programs that use pgx without an ORM. [CopyFrom] fills keys while it
// streams rows into a table, and [Register] makes lists of keys work as query arguments in
// every query mode.
//
//	type User struct {
//		ID   pk.ID
//		Name string
//	}
//
//	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { // of a pgxpool.Config
//		pgxid.Register(conn.TypeMap())
//		return nil
//	}
//
//	pgxid.CopyFrom(ctx, db, pgx.Identifier{"users"}, []string{"id", "name"},
//		pgx.CopyFromSlice(len(users), func(i int) ([]any, error) {
//			return []any{&users[i].ID, users[i].Name}, nil // fills users[i].ID
//		}))
//
// # Arguments and results
//
// For the most part pgx can handle the types in package pk without any help, whether they're
// arguments, results, array elements, fields of composites, or part of a COPY. Nil pointers
// become NULL. A nil pointer behind another pointer is different: passing &row.Boss, where
// Boss is a nil *pk.ID, makes pgx panic unless you've called [Register].
//
// You'll also need [Register] for some lists:
//
//   - In [pgx.QueryExecModeExec] and [pgx.QueryExecModeSimpleProtocol], which are common
//     behind PgBouncer, pgx doesn't ask the server for parameter types. It has to guess them
//     from the Go types instead, and it can't for []pk.ID or []pk.Of[User].
//   - In any mode, pgx may not know the parameter's type (e.g. an array of a domain).
//
// Register works for database/sql over pgx too, including ORMs built on top of that. See
// stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// The rules are the same as in package pk: use pk.ID, pk.Of and pk.String for bigint, and
// pk.Text and pk.SortText for text, varchar and char. Never send a pk.SortText to a bigint
// column. If all of its 13 characters happen to be digits, Postgres will read a different
// number.
//
// # Other ways to create rows
//
// If you're using plain INSERTs, fill your structs with package sqlid (which works with any
// driver) or draw keys from the pool. Drawing them with [idgen.Pool.NextN] has the advantage
// that you know all foreign keys up front, so you can send parents and children in a single
// pgx.Batch.
package pgxid
