//go:build matrix

package sqlstore_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestMatrixIsolation(t *testing.T) { isolation(t, "read committed", "repeatable read") }

// TestMatrixConnections runs the suite using connections that send statements, count rows and
// tell the time in other ways.
func TestMatrixConnections(t *testing.T) {
	for name, settings := range map[string]string{
		"exec, as PgBouncer needs":                    "default_query_exec_mode=exec",
		"the simple protocol":                         "default_query_exec_mode=simple_protocol",
		"far from UTC, with commits that do not wait": "timezone=Asia%2FKathmandu&synchronous_commit=off",
	} {
		t.Run("postgres "+name, func(t *testing.T) {
			db := with(dbtest.Postgres(t), settings)
			suite(t, db, db.Connect(t))
		})
	}
	for name, settings := range map[string]string{
		"parameters within the text": "interpolateParams=true",
		"far from UTC, in ANSI mode": "time_zone=%27%2B05%3A45%27&sql_mode=%27ANSI,TRADITIONAL%27",
	} {
		t.Run("mysql "+name, func(t *testing.T) {
			db := with(dbtest.MySQL(t), settings)
			suite(t, db, db.Connect(t))
		})
	}
}
