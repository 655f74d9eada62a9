//go:build clients

package entid_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
)

// TestStableIDs checks that a test can compare ids with literals.
func TestStableIDs(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ids := idgentest.New(t)
		c.Use(entid.Hook(ids))
		c.User.CreateBulk(c.User.Create().SetName("Ada"), c.User.Create().SetName("Bob")).ExecX(t.Context())
		ids.Advance(time.Hour)
		c.User.Create().SetName("Cy").ExecX(t.Context())
		c.wantRows(t, "SELECT id FROM users ORDER BY id", "132271570944004097", "132271570944004098", "132286670438404097")
		c.wantRows(t, "SELECT name FROM users ORDER BY id", "Ada", "Bob", "Cy")
	})
}
