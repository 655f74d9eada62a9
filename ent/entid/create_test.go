package entid_test

import (
	"testing"
)

// Every key type is filled, and what is in memory is what is in the table.
func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		u, err := c.User.Create().SetName("a").Save(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.wantRows(t, "SELECT id FROM users", u.ID.String())
	})
}
