// Package pgxid is for programs that use pgx without an ORM. With [CopyFrom] you can fill
// the keys of rows while they stream into a table. [Register] lets you pass lists of keys
// as arguments in every query mode.
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
// You don't need this package to use the types of package pk as arguments, as results, as
// elements of arrays and composites, or in COPY. pgx encodes and decodes them by itself. A
// nil pointer is NULL. For a nil pointer behind another pointer, such as &row.Boss with a
// Boss of type *pk.ID, pgx panics unless you call [Register].
//
// For lists, however, you need [Register] in two cases. The first is when you use
// [pgx.QueryExecModeExec] or [pgx.QueryExecModeSimpleProtocol], as programs behind
// PgBouncer often do. In these modes pgx doesn't ask the server for the types of the
// parameters but derives them from the Go types of the arguments, and it doesn't have one
// for a []pk.ID or a []pk.Of[User]. The second case, in every mode, is a parameter whose
// type pgx doesn't know, such as an array of a domain.
//
// Register also works with database/sql over pgx, and therefore with ORMs that use it. See
// stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// The rules are those of package pk. Use pk.ID, pk.Of and pk.String for bigint, and pk.Text
// and pk.SortText for text, varchar and char. Don't use a pk.SortText for a bigint. If its
// 13 characters happen to be digits only, Postgres takes them for a different number.
//
// # Other ways to create rows
//
// For an INSERT, you can fill structs with package sqlid, which works with any driver, or
// draw keys from the pool. If you draw them with [idgen.Pool.NextN], you know all foreign
// keys before you send anything, so parents and children fit into a single pgx.Batch.
package pgxid
