package gormid_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStableIDs checks that a test can compare keys with literals.
func TestStableIDs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		e, ids := bare(t, about), idgentest.New(t)
		use(t, e.DB, gormid.Config{Source: ids})
		migrate(t, e.DB, &user{})
		must(t, e.Create([]*user{{Name: "Ada"}, {Name: "Bob"}}))
		ids.Advance(time.Hour)
		must(t, e.Create(&user{Name: "Cy"}))
		e.wantTable(t, "SELECT id, name FROM users ORDER BY id", "132271570944004097 Ada", "132271570944004098 Bob", "132286670438404097 Cy")
	})
}
