package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Options control what [Inspect] looks at. The zero value suits most programs.
type Options struct {
	// Schemas are the exact names of the schemas to report. On MySQL these are
	// databases, and on SQLite the main and attached databases. Foreign keys and views
	// in other schemas are reported as well. Defaults to all schemas except the
	// system's own, or on MySQL to the connection's database if it has one.
	Schemas []string

	// Children are columns that hold a key without a foreign key. Only the names in
	// Child and Parent are used. A schema may be left empty if there is only one column
	// that fits. Without a Parent, the column holds keys of any of the tables.
	Children []ForeignKey

	// LikelyChildren adds every column to Children that would otherwise be reported as
	// a [LikelyChild].
	LikelyChildren bool

	// NotChildren are columns that must not be reported as a [LikelyChild].
	NotChildren []Column

	// OnlyDeclared leaves out the search for a [LikelyChild], which reads rows.
	OnlyDeclared bool
}

// Inspect reads the catalog of db and reports every auto-increment key in it. It
// changes nothing, and uses a single connection until it returns. It is safe for
// concurrent use.
//
// The error is [ErrDialect], [ErrSchema] or [ErrColumn], or wraps the driver's error.
// Note that it is not an error if the account isn't allowed to see some objects. The
// report has a finding of the kind [Unseen] instead.
func Inspect(ctx context.Context, db *sql.DB, options Options) (Report, error) {
	var report Report
	err := withConn(ctx, db, func(conn *sql.Conn) (err error) {
		report, err = InspectConn(ctx, conn, options)
		return err
	})
	return report, err
}

// InspectConn is like [Inspect], but uses the given connection. It is for callers that
// have already set up the connection's session.
func InspectConn(ctx context.Context, conn *sql.Conn, options Options) (Report, error) {
	found, err := database.Identify(ctx, conn)
	if err != nil {
		return Report{}, err
	}
	s := server{found}
	c, err := s.read(ctx, conn, options.Schemas, true)
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
	if err := c.declareAll(s, options); err != nil {
		return Report{}, err
	}
	report := Report{Dialect: s.Dialect, Version: s.Version, Schemas: schemas, Findings: c.unseen, Triggers: c.triggers, References: c.references()}
	report.Keys = c.assemble(schemas)
	likely, err := s.findChildren(ctx, conn, c, report, options)
	if err != nil {
		return Report{}, err
	}
	if options.LikelyChildren {
		var remain []candidate // which have to be altered by hand
		for _, l := range likely {
			switch {
			case l.column.byHand():
				remain = append(remain, l)
			case l.key == nil:
				c.declare(l.column, Column{})
			default:
				c.declare(l.column, l.key.Column)
			}
		}
		report.Keys = c.assemble(schemas)
		likely = remain
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
		s.judgeCandidate(&report, l)
	}
	return report, nil
}

// ErrSchema is returned if a schema of [Options.Schemas] does not exist, or if the
// account is not allowed to see it.
var ErrSchema = errors.New("there is no schema of this name that this account may see")

// ErrColumn is returned if [Options] name a column that does not exist, does not hold
// integers, or exists in several schemas.
var ErrColumn = errors.New("there is no single column of integers of this name")

func missingSchema(name string, schemas []string) error {
	const most = 10
	shown, more := schemas, ""
	if len(shown) > most {
		shown, more = shown[:most], " and others"
	}
	return fmt.Errorf("catalog: %w: %q; there are %q%s", ErrSchema, name, shown, more)
}
