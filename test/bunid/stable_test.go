package bunid_test

import (
	"context"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStableIDs checks that a test can compare keys with literals. The model gets its
// source from the context, so tests can run in parallel.
func TestStableIDs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		e, ids := open(t, about, (*user)(nil)), idgentest.New(t)
		ctx := context.WithValue(t.Context(), sourceKey{}, ids)
		if _, err := e.NewInsert().Model(&[]user{{Name: "Ada"}, {Name: "Bob"}}).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		ids.Advance(time.Hour)
		if _, err := e.NewInsert().Model(&user{Name: "Cy"}).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		e.wantTable(t, "SELECT id, name FROM users ORDER BY id", "132271570944004097 Ada", "132271570944004098 Bob", "132286670438404097 Cy")
	})
}
