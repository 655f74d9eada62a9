package sqlsession

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// ErrUnusable is returned for a table that can't be used in its current state. The table
// has not been changed.
var ErrUnusable = errors.New("unusable table")

//go:embed inspect.sql
var inspections string

// Inspect reports whether all tables in names exist, using a single statement. It
// returns a [*protocol.VersionError] if a table has another version, and
// [ErrUnusable] if something about a table makes it unusable, such as a trigger that
// may change what is written. The names must have passed [CheckName]. They must all
// have the same schema, or none at all. If the server doesn't have all of the catalogs,
// Inspect only finds out whether the tables exist.
func Inspect(ctx context.Context, db *sql.DB, d sqldialect.Dialect, names ...string) (there bool, err error) {
	schema, _ := SplitName(names[0])
	text := sqldialect.Sections(inspections)[string(d)]
	var quoted, each []string
	for _, name := range names {
		_, plain := SplitName(name)
		quoted = append(quoted, "('"+d.Table(name)+"')")
		each = append(each, strings.ReplaceAll(text, "{name}", "'"+plain+"'"))
	}
	here, main := "DATABASE()", ""
	switch d {
	case sqldialect.Postgres:
		text = ToPrimary + text
	case sqldialect.SQLite:
		here, text = "'main'", each[0] // its stores have one table
	default:
		text = strings.Join(each, "\nUNION ALL ") + " LIMIT 9223372036854775807" // without it, sql_select_limit applies
	}
	if schema != "" {
		here, main = "'"+schema+"'", d.Quote(schema)+"."
	}
	text = strings.NewReplacer("{quoted}", strings.Join(quoted, ", "), "{schema}", here, "{main}", main, "{version}", "'"+protocol.Known()+"'").Replace(text)
	type finding struct{ kind, table, detail string }
	var findings []finding
	err = Read(ctx, db, d, Settings{}, func(conn *sql.Conn) (err error) {
		findings, err = List(ctx, conn, text, nil, func(f *finding) []any { return []any{&f.kind, &f.table, &f.detail} })
		return err
	})
	switch {
	case err != nil && d.Unknown(err):
		return exist(ctx, db, d, names)
	case err != nil:
		return false, err
	}
	there = true
	for _, f := range findings {
		switch f.kind {
		case "missing":
			there = false
		case "version":
			return false, &protocol.VersionError{Where: "the table " + f.table, Found: f.detail}
		default:
			return false, fmt.Errorf("snowkey: %w %s: it "+reasons[f.kind][0]+"; %s", ErrUnusable, f.table, f.detail, reasons[f.kind][1])
		}
	}
	return there, nil
}

// exist is Inspect for a server that doesn't know all of the catalogs that we would have
// to read. It can't find anything that makes a table unusable.
func exist(ctx context.Context, db *sql.DB, d sqldialect.Dialect, names []string) (there bool, err error) {
	for _, name := range names {
		err := Read(ctx, db, d, Settings{}, func(conn *sql.Conn) error {
			_, err := List(ctx, conn, "SELECT protocol FROM "+d.Table(name)+" WHERE 1 = 0", nil, func(version *int64) []any { return []any{version} })
			return err
		})
		if err != nil && d.Missing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// reasons has the reason and remedy for each kind of problem.
var reasons = map[string][2]string{
	"trigger":            {"has the trigger %s, which may change what is written", "drop the trigger"},
	"rule":               {"has the rule %s, which may change what is written", "drop the rule"},
	"row-level security": {"has row-level security%s, which may hide rows from this role", "use ALTER TABLE … DISABLE ROW LEVEL SECURITY, or a role that bypasses it"},
	"kind":               {"is a %s", "make it an ordinary table, or choose another name"},
	"engine":             {"is kept by the engine %s, which forgets commits", "use ENGINE = InnoDB; for leases call snowkey.Fence too"},
}
