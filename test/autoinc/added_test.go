package autoinc_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// A child that was added after the phase widen is still narrow, which Verify must
// report.
func TestChildAddedLater(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "sqlite" {
			t.Skip("every integer of SQLite has 64 bits")
		}
		conn := db.Connect(t)
		counting := map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY"}[db.Dialect]
		exec(t, conn, "CREATE TABLE u (id "+counting+")", "CREATE TABLE v (id "+counting+", u int)")
		p := plan(t, conn, options)
		if _, err := autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if db.Dialect == "postgres" {
			exec(t, conn, "ALTER TABLE v ADD CONSTRAINT later FOREIGN KEY (u) REFERENCES u (id)")
		} else { // MySQL only lets columns of the same type reference each other
			exec(t, conn, "ALTER TABLE v ADD w BIGINT, ADD CONSTRAINT later FOREIGN KEY (w) REFERENCES u (id)")
		}
		says := verdicts(t, verify(t, conn, p))
		if narrow := strings.Contains(says, "it is integer, which does not hold 64 bits"); narrow != (db.Dialect == "postgres") {
			t.Errorf("got\n%s", says)
		}
		if db.Dialect == "mysql" && !strings.Contains(says, "`w`: it is bigint") {
			t.Errorf("got\n%s", says)
		}
	})
}
