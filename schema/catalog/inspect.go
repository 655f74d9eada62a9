package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Options say what [Inspect] looks at. Most programs use the zero value.
type Options struct {
	// Dialect is the kind of server. By default, Inspect detects it.
	Dialect Dialect

	// Schemas are the exact names of the schemas to report; on MySQL they are
	// databases, on SQLite main and attached databases. Foreign keys and views in
	// other schemas are reported too. Defaults to all schemas except the system's
	// own, or on MySQL to the connection's database if it has one.
	Schemas []string
}

// Inspect reads the catalog of db and reports every auto-increment key in it. It
// changes nothing, and uses a single connection until it returns. Concurrent calls
// are safe, as the database is.
//
// An error is [ErrDialect] or [ErrSchema], or it wraps the driver's error. Objects
// that the account may not see are not an error, but a finding, [Unseen].
func Inspect(ctx context.Context, db *sql.DB, options Options) (Report, error) {
	var report Report
	err := withConn(ctx, db, func(conn *sql.Conn) (err error) {
		report, err = InspectConn(ctx, conn, options)
		return err
	})
	return report, err
}

// InspectConn is [Inspect] on a given connection, for callers that have set up the
// connection's session.
func InspectConn(ctx context.Context, conn *sql.Conn, options Options) (Report, error) {
	found, err := database.Identify(ctx, conn, options.Dialect)
	if err != nil {
		return Report{}, err
	}
	s := server{found}
	c, err := s.syntax().read(s, ctx, conn, options.Schemas)
	if err != nil {
		return Report{}, err
	}
	schemas := c.inspected
	if len(options.Schemas) > 0 {
		schemas = options.Schemas
	}
	for _, name := range schemas {
		if !slices.Contains(c.schemas, name) {
			return Report{}, missingSchema(name, c.schemas)
		}
	}
	report := Report{Dialect: s.Dialect, Version: s.Version, Schemas: schemas, Findings: c.unseen, Triggers: c.triggers}
	report.Keys = c.assemble(schemas)
	for i := range report.Keys {
		s.judge(&report.Keys[i])
	}
	return report, nil
}

// ErrSchema says that a schema of [Options.Schemas] does not exist, or that the
// account may not see it.
var ErrSchema = errors.New("there is no schema of this name that this account may see")

func missingSchema(name string, schemas []string) error {
	const most = 10
	shown, more := schemas, ""
	if len(shown) > most {
		shown, more = shown[:most], " and others"
	}
	return fmt.Errorf("catalog: %w: %q; there are %q%s", ErrSchema, name, shown, more)
}
