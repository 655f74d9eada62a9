//go:build matrix

package segmentstore_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMatrixConnections runs the suite using connections that send statements and count rows
// in other ways.
func TestMatrixConnections(t *testing.T) {
	for name, settings := range map[string]string{
		"exec, as PgBouncer needs":      "default_query_exec_mode=exec",
		"the simple protocol":           "default_query_exec_mode=simple_protocol",
		"with commits that do not wait": "synchronous_commit=off",
	} {
		t.Run("postgres "+name, func(t *testing.T) {
			db := with(dbtest.Postgres(t), settings)
			suite(t, db, db.Connect(t))
		})
	}
	for name, settings := range map[string]string{
		"rows found are counted":     "clientFoundRows=true",
		"parameters within the text": "interpolateParams=true",
		"in ANSI mode":               "sql_mode=%27ANSI,TRADITIONAL%27",
	} {
		t.Run("mysql "+name, func(t *testing.T) {
			db := with(dbtest.MySQL(t), settings)
			suite(t, db, db.Connect(t))
		})
	}
}
