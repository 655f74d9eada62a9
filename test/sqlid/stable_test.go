package sqlid_test

import (
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStableIDs checks that a test can compare keys with literals.
func TestStableIDs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		db, ids := about.Connect(t), idgentest.New(t)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id BIGINT PRIMARY KEY, n INT)"); err != nil {
			t.Fatal(err)
		}
		for _, rows := range [][]user{make([]user, 2), make([]user, 1)} {
			if err := insert(t, db, about.Dialect, sqlid.New(ids), rows, func(r *user) any { return r.ID }); err != nil {
				t.Fatal(err)
			}
			ids.Advance(time.Hour)
		}
		want := []string{"132271570944004097 0", "132271570944004098 1", "132286670438404097 0"}
		if got := dbtest.Rows(t, db, "SELECT id, n FROM t ORDER BY id"); !slices.Equal(got, want) {
			t.Errorf("the rows are %q, want %q", got, want)
		}
	})
}
