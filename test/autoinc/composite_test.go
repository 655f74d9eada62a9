package autoinc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// A counting column of a composite key is only planned, along with its children, if the
// caller asks for it.
func TestCompositeKey(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "sqlite" {
			t.Skip("SQLite counts only a primary key of one column")
		}
		conn := db.Connect(t)
		counting := map[string]string{"postgres": "serial", "mysql": "INT AUTO_INCREMENT, KEY (line)"}[db.Dialect]
		exec(t, conn, "CREATE TABLE items (ordered int NOT NULL, line "+counting+", note varchar(20), PRIMARY KEY (ordered, line))",
			"CREATE TABLE parcels (id int PRIMARY KEY, ordered int NOT NULL, line int NOT NULL, FOREIGN KEY (ordered, line) REFERENCES items (ordered, line))",
			"INSERT INTO items (ordered, note) VALUES (1, 'a'), (1, 'b'), (2, 'c')", "INSERT INTO parcels VALUES (1, 1, 2)")
		if _, err := autoinc.NewPlan(t.Context(), conn, options); !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), "--composite") {
			t.Errorf("got %v", err)
		}
		options.Composite = true
		p := plan(t, conn, options)
		applyAll(t, conn, p, autoinc.ApplyOptions{})
		prove(t, conn, p)
		exec(t, conn, "INSERT INTO items (ordered, line, note) VALUES (2, 7350000000000000001, 'd'), (2, 7350000000000000002, 'e')",
			"INSERT INTO parcels VALUES (2, 2, 7350000000000000002)")
		for _, refused := range []string{"INSERT INTO items (ordered, note) VALUES (3, 'no key')", "INSERT INTO items (ordered, line) VALUES (3, 4)",
			"INSERT INTO parcels VALUES (3, 2, 7350000000000000003)"} {
			if _, err := conn.Exec(refused); err == nil {
				t.Errorf("%s: no error", refused)
			}
		}
	})
}
