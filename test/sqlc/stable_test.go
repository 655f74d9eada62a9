package sqlc

import (
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/sqlc/sqlite"
)

// TestStableIDs checks that a test can compare keys with literals.
func TestStableIDs(t *testing.T) {
	db, ids := dbtest.SQLite(t).Connect(t), idgentest.New(t)
	create(t, func(statement string) error {
		_, err := db.ExecContext(t.Context(), statement)
		return err
	})
	c := client{sqlite.New(db), sqlid.New(ids)}
	c.insert(t, "CreateAuthor", map[string]any{"Name": "Ada"})
	c.insert(t, "CreateAuthor", map[string]any{"Name": "Bob"})
	ids.Advance(time.Hour)
	c.insert(t, "CreateAuthor", map[string]any{"Name": "Cy"})
	want := []string{"132271570944004097 Ada", "132271570944004098 Bob", "132286670438404097 Cy"}
	if got := dbtest.Rows(t, db, "SELECT id, name FROM authors ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
}
