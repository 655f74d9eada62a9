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
// Lists need [Register] in two cases. The first is the modes [pgx.QueryExecModeExec]
// and [pgx.QueryExecModeSimpleProtocol], which programs behind PgBouncer use. In these
// modes pgx does not request the types of the parameters from the server. It derives
// them from the Go types of the arguments, and it knows no type for a []pk.ID or a
// []pk.Of[User]. The second case, in every mode, is a parameter whose type pgx does not
// know, such as an array of a domain.
//
// Register also works for database/sql over pgx, and therefore for ORMs that use it:
// see stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// The rules of package pk apply. Use pk.ID, pk.Of and pk.String for bigint. Use pk.Text
// and pk.SortText for text, varchar and char. If a pk.SortText for a bigint has only
// digits in its 13 characters, Postgres takes them for another number.
//
// # Other ways to create rows
//
// For an INSERT, fill structs with package sqlid, which works with any driver, or get
// keys from the pool. With ids from [idgen.Pool.NextN], parents and children fit into
// one pgx.Batch, because their foreign keys are known before anything is sent.
package pgxid
