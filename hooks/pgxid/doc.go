// Package pgxid is for programs that use pgx without an ORM. [CopyFrom] streams rows into a
// table and fills their keys. [Register] lets you pass lists of keys as query arguments in
// all query modes.
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
// pgx can use the types in package pk without this package: as arguments, results, array
// elements, fields of composites, and in COPY. It sends nil pointers as NULL.
//
// [Register] is required for a pointer to a nil pointer, and for some lists:
//
//   - []pk.ID or []pk.Of[User] in [pgx.QueryExecModeExec] and
//     [pgx.QueryExecModeSimpleProtocol], which are common behind PgBouncer. In these modes,
//     pgx infers parameter types from the Go types, which it can't do for these lists.
//   - In any mode, lists for a parameter whose type pgx doesn't know (e.g. an array of a
//     domain).
//
// Register also works for database/sql with pgx as its driver, and for ORMs that use it. Call
// it in stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// Use pk.ID, pk.Of or pk.String for bigint columns, and pk.Text or pk.SortText for text,
// varchar and char columns. Never send a pk.SortText to a bigint column. If all of its 13
// characters happen to be digits, Postgres reads them as a different number.
//
// # Other ways to create rows
//
// To fill the keys of structs before an INSERT, use package sqlid, which works with any
// driver. You can also get keys from the pool with [idgen.Pool.NextN]. You then know all
// foreign keys before you insert any rows, so that you can send parents and children
// together in a single pgx.Batch.
package pgxid
