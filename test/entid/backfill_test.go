//go:build clients

package entid_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/entry"
)

// A client's hook takes the ids of imported rows from their times.
func TestBackfill(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		b := dbtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Worker: 900}))(t)
		c.Use(entid.Hook(b))
		day := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
		timeOf := func(e *ent.Entry) time.Time { return b.Config().Layout.Decode(e.ID.Int64()).Time }

		rows := dbtest.Must(c.Entry.CreateBulk(
			c.Entry.Create().SetText("a").SetCreatedAt(day),
			c.Entry.Create().SetText("b").SetCreatedAt(day),
			c.Entry.Create().SetText("c").SetCreatedAt(day.Add(time.Hour)),
		).Save(t.Context()))(t)
		if !timeOf(rows[0]).Equal(day) || rows[1].ID != rows[0].ID+1 || !timeOf(rows[2]).Equal(day.Add(time.Hour)) {
			t.Errorf("%v", rows)
		}
		if got := c.Entry.Query().Order(entry.ByID()).FirstX(t.Context()); got.Text != "a" {
			t.Errorf("%v", got)
		}
		for name, create := range map[string]func() error{
			"no field": func() error { return c.Note.Create().SetText("a").Exec(t.Context()) },
			"sooner":   func() error { return c.Entry.Create().SetText("d").SetCreatedAt(day).Exec(t.Context()) },
		} {
			if _, ok := errors.AsType[*entid.RowError](create()); !ok {
				t.Errorf("%s: %v", name, create())
			}
		}
		if n := c.Entry.Query().CountX(t.Context()); n != 3 {
			t.Errorf("%d rows", n)
		}
	})
}
