// Package catalogtest has what tests of package catalog and of packages on top of it share.
package catalogtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// A TB is a *testing.T.
type TB interface {
	dbtest.TB
	Context() context.Context
}

// Quote returns the function that quotes names.
func Quote(db dbtest.DB) func(name string) string {
	mark := map[string]string{"postgres": `"`, "sqlite": `"`, "mysql": "`"}[db.Dialect]
	return func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }
}

// As returns the database as another account sees it.
func As(t TB, db dbtest.DB, account, password string) dbtest.DB {
	t.Helper()
	if db.Dialect == "mysql" {
		dsn := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
		dsn.User, dsn.Passwd = account, password
		db.DSN = dsn.FormatDSN()
		return db
	}
	dsn := dbtest.Must(url.Parse(db.DSN))(t)
	dsn.User = url.UserPassword(account, password)
	db.DSN = dsn.String()
	return db
}

// Inspect returns the report about a database.
func Inspect(t TB, conn *sql.DB, options catalog.Options) catalog.Report {
	t.Helper()
	return dbtest.Must(catalog.Inspect(t.Context(), conn, options))(t)
}

// Key returns the key of the named table, in whichever schema the table is.
func Key(t TB, report catalog.Report, table string) catalog.Key {
	t.Helper()
	i := slices.IndexFunc(report.Keys, func(k catalog.Key) bool { return k.Column.Table.Name == table })
	if i < 0 {
		t.Fatalf("no key of %q in %+v", table, report)
	}
	return report.Keys[i]
}

// Kinds returns findings as severity:kind, in order and without repetitions.
func Kinds(findings []catalog.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s:%s", f.Severity, f.Kind))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// Differences returns the error as what Compare returns, and otherwise ends the test.
func Differences(t TB, err error) *catalog.MismatchError {
	t.Helper()
	e, ok := errors.AsType[*catalog.MismatchError](err)
	if !ok {
		t.Fatalf("got %v, want a *MismatchError", err)
	}
	return e
}
