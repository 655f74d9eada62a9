// Package pgxid is for programs that use pgx without an ORM. [CopyFrom] fills the keys of
// rows while they stream into a table. [Register] makes lists of keys valid arguments in
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
// pgx encodes and decodes the types of package pk without this package: as arguments,
// results, elements of arrays and composites, and in COPY. A nil pointer is NULL.
//
// Lists need Register in two cases. In the modes [pgx.QueryExecModeExec] and
// [pgx.QueryExecModeSimpleProtocol], which programs behind PgBouncer use, pgx does not ask
// the server for the types of the parameters. It goes by the Go type of the argument, and
// it knows no type for a []pk.ID or a []pk.Of[User]. The same happens in every mode if pgx
// does not know the type of the parameter, such as an array of a domain.
//
// Register also works for database/sql over pgx, and so for ORMs on it: see
// stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// The rules of package pk apply. Use pk.ID, pk.Of and pk.String for bigint. Use pk.Text
// and pk.SortText for text, varchar and char. A pk.SortText over bigint is another number
// if its 13 characters are all digits.
//
// # Other ways to create rows
//
// For INSERT, fill structs with package sqlid, which works with any driver, or take keys
// from the pool. With ids from [idgen.Pool.NextN], parents and children fit into one
// pgx.Batch, because their foreign keys are known before anything is sent.
package pgxid
