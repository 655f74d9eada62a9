//go:build nightly

package sqlstore_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestNightlyIsolation(t *testing.T) { isolation(t, "read committed", "repeatable read") }

// TestNightlyConnections runs the suite using connections that send statements, count rows and
// tell the time in other ways.
func TestNightlyConnections(t *testing.T) {
	for _, of := range []struct{ dialect, name, settings string }{
		{"postgres", "exec, as PgBouncer needs", "default_query_exec_mode=exec"},
		{"postgres", "the simple protocol", "default_query_exec_mode=simple_protocol"},
		{"postgres", "far from UTC, with commits that do not wait", "timezone=Asia%2FKathmandu&synchronous_commit=off"},
		{"mysql", "parameters within the text", "interpolateParams=true"},
		{"mysql", "far from UTC, in ANSI mode", "time_zone=%27%2B05%3A45%27&sql_mode=%27ANSI,TRADITIONAL%27"},
	} {
		t.Run(of.dialect+" "+of.name, func(t *testing.T) {
			db := dbtest.Open(t, of.dialect).With(of.settings)
			suite(t, db, db.Connect(t))
		})
	}
}
