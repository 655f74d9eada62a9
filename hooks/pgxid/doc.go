// Package pgxid is for programs that use pgx without an ORM. [CopyFrom] fills
// the keys of rows while they stream into a table, and [Register] lets lists of
// keys be arguments in every query mode.
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
// The types of package pk speak for themselves to pgx: as arguments, results,
// elements of arrays and composites, and in COPY, with a nil pointer for NULL.
// One thing is missing. In the modes [pgx.QueryExecModeExec] and
// [pgx.QueryExecModeSimpleProtocol], which programs behind PgBouncer use, pgx does
// not ask the server for the types of the parameters. It goes by the Go type of
// the argument, and of a []pk.ID or []pk.Of[User] it knows none. The same happens
// in every mode where the parameter's type is one that pgx does not know, such as
// an array of a domain. Register tells it.
//
// It applies to database/sql over pgx as well, and so to ORMs on it: see
// stdlib.OptionAfterConnect.
//
// # Which type for which column
//
// As package pk says: pk.ID, pk.Of and pk.String are for bigint, pk.Text and
// pk.SortText for text, varchar and char. pk.Text is exact over bigint, too.
// pk.SortText is not: of its 13 characters those that happen to be digits only
// are a legal, and another, bigint.
//
// # Other ways to create rows
//
// For INSERT, fill structs with package sqlid, which knows no driver, or take keys
// from the pool: with ids from [idgen.Pool.NextN] parents and children can share
// one pgx.Batch, because their foreign keys are known before anything is sent.
package pgxid
