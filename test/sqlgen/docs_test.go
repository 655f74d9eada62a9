package sqlgen

import (
	"os"
	"regexp"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// TestPage runs the SQL of docs/sql-default.md.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/sql-default.md")
	if err != nil {
		t.Fatal(err)
	}
	db := dbtest.Postgres(t).Connect(t)
	install(t, db, sqlgen.Writer{})
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		run(t, db, block[1])
	}
	if ids := query(t, db, "SELECT DISTINCT id FROM orders"); len(ids) != 5 {
		t.Errorf("%d rows, want 5", len(ids))
	}
}
