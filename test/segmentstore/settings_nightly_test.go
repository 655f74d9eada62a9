//go:build nightly

package segmentstore_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyConnections runs the suite using connections that send statements and count rows
// in other ways.
func TestNightlyConnections(t *testing.T) {
	for _, of := range []struct{ dialect, name, settings string }{
		{"postgres", "exec, as PgBouncer needs", "default_query_exec_mode=exec"},
		{"postgres", "the simple protocol", "default_query_exec_mode=simple_protocol"},
		{"postgres", "with commits that do not wait", "synchronous_commit=off"},
		{"mysql", "rows found are counted", "clientFoundRows=true"},
		{"mysql", "parameters within the text", "interpolateParams=true"},
		{"mysql", "in ANSI mode", "sql_mode=%27ANSI,TRADITIONAL%27"},
	} {
		t.Run(of.dialect+" "+of.name, func(t *testing.T) {
			db := dbtest.Open(t, of.dialect).With(of.settings)
			suite(t, db, db.Connect(t))
		})
	}
}
