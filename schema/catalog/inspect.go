package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Options controls what [Inspect] looks at. The zero value is fine for most programs.
type Options struct {
	// Schemas lists the exact names of the schemas to report (on MySQL that's databases,
	// and on SQLite the main and attached databases). Foreign keys and views in other
	// schemas are reported as well. Defaults to everything except system schemas. On
	// MySQL, it defaults to the connection's database if it has one.
	Schemas []string

	// Children lists columns that hold a key without having a foreign key. Only the names
	// in Child and Parent are used. The schema may be omitted if there's just one
	// matching column. Without a Parent, the column may hold keys from any of the tables.
	Children []ForeignKey

	// LikelyChildren adds every column to Children that would otherwise be reported as a
	// [LikelyChild].
	LikelyChildren bool

	// NotChildren are columns that should never be reported as a [LikelyChild].
	NotChildren []Column

	// AllKeys adds the primary keys of one column that the database doesn't number, as keys
	// without a Mechanism. A column of any type is then a [LikelyChild] if it may hold a key.
	// Plans of autoinc set it themselves.
	AllKeys bool

	// OnlyDeclared skips the search for [LikelyChild] columns, which has to read rows.
	OnlyDeclared bool
}

// Inspect reads db's catalog and reports every auto-increment key it finds. It's
// read-only, uses a single connection, and is safe for concurrent use.
//
// The error is [ErrDialect], [ErrSchema] or [ErrColumn], or wraps the driver's error. If
// the account isn't allowed to see some objects, that's not an error; check the report
// for an [Unseen] finding.
func Inspect(ctx context.Context, db *sql.DB, options Options) (Report, error) {
	var report Report
	err := withConn(ctx, db, func(conn *sql.Conn) (err error) {
		report, err = InspectConn(ctx, conn, options)
		return err
	})
	return report, err
}

// InspectConn is like [Inspect] but uses the given connection, for callers that have
// already set up its session.
func InspectConn(ctx context.Context, conn *sql.Conn, options Options) (Report, error) {
	found, err := database.Identify(ctx, conn)
	if err != nil {
		return Report{}, err
	}
	s := server{found}
	c, err := s.read(ctx, conn, options.Schemas)
	if err == nil {
		err = c.readCounters(ctx)
	}
	if err != nil {
		return Report{}, err
	}
	for _, name := range c.inspected {
		if !slices.Contains(c.schemas, name) {
			return Report{}, missingSchema(name, c.schemas)
		}
	}
	report := Report{Dialect: s.Dialect, Version: s.Version, Schemas: c.inspected, Findings: c.unseen, Triggers: c.triggers, PrimaryKeys: c.primary, References: c.references}
	if err := c.declare(options); err != nil {
		return Report{}, err
	}
	if options.AllKeys {
		c.addKeys()
	}
	report.Keys = c.assemble()
	likely, err := c.findChildren(ctx, report.Keys, options)
	if err != nil {
		return Report{}, err
	}
	if options.LikelyChildren {
		report.Keys = c.assemble()
	}
	for i := range report.Keys {
		s.judge(&report.Keys[i])
	}
	routines, err := database.NarrowRoutines(ctx, conn, s.Server)
	if err != nil {
		return Report{}, err
	}
	for _, r := range routines {
		s.judgeRoutine(report.Keys, r)
	}
	for _, l := range likely {
		s.judgeCandidate(&report, l, options)
	}
	return report, nil
}

// ErrSchema is returned if a schema in [Options.Schemas] doesn't exist, or if the account
// isn't allowed to see it.
var ErrSchema = errors.New("there is no schema of this name that this account may see")

// ErrColumn is returned if a column in [Options] doesn't exist, doesn't hold integers, or
// exists in more than one schema.
var ErrColumn = errors.New("there is no single column of integers of this name")

func missingSchema(name string, schemas []string) error {
	const most = 10 // are named
	return fmt.Errorf("catalog: %w: %q; there are %q, %d in all", ErrSchema, name, schemas[:min(len(schemas), most)], len(schemas))
}
