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
// pgx can encode and decode the types in package pk without any help from this package,
// whether they're used as arguments, results, array elements, fields of composites, or in
// COPY. Nil pointers become NULL. The exception is a nil pointer behind another pointer:
// passing &row.Boss, where Boss is a nil *pk.ID, makes pgx panic unless [Register] has been
// called.
//
// Register is also required for some lists:
//
//   - In [pgx.QueryExecModeExec] and [pgx.QueryExecModeSimpleProtocol], which are common
//     behind PgBouncer, pgx doesn't ask the server for parameter types. It has to guess them
//     from the Go types instead, and it can't for []pk.ID or []pk.Of[User].
//   - In any mode, pgx may not know the parameter's type (e.g. an array of a domain).
//
// Register works for database/sql over pgx as well, including ORMs built on top of it. See
// stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// The rules are the same as in package pk. Use pk.ID, pk.Of or pk.String for bigint columns,
// and pk.Text or pk.SortText for text, varchar and char. A pk.SortText should never be sent
// to a bigint column, because Postgres will read a completely different number if all 13
// characters happen to be digits.
//
// # Other ways to create rows
//
// For plain INSERTs, structs can be filled using package sqlid (which works with any
// driver), or keys can be drawn from the pool. An advantage of drawing them with
// [idgen.Pool.NextN] is that all foreign keys are known up front, which allows sending
// parents and children together in a single pgx.Batch.
package pgxid
