//go:build clients

package entid_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/entry"
)

// A client's hook takes the ids of imported rows from their times, which are in the field
// created_at. Package fill tests what is a time.
func TestBackfill(t *testing.T) {
	c := open(t, dbtest.SQLite(t), tables)
	b := dbtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Worker: 900}))(t)
	c.Use(entid.Hook(b))
	day := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
	timeOf := func(e *ent.Entry) time.Time { return b.Config().Layout.Decode(e.ID.Int64()).Time }
	create := func(at time.Time) *ent.EntryCreate { return c.Entry.Create().SetText("a").SetCreatedAt(at) }

	rows := c.Entry.CreateBulk(create(day), create(day), create(day.Add(time.Hour))).SaveX(t.Context())
	if !timeOf(rows[0]).Equal(day) || rows[1].ID != rows[0].ID+1 || !timeOf(rows[2]).Equal(day.Add(time.Hour)) {
		t.Errorf("%v", rows)
	}
	first, last := b.Config().Layout.Between(day, day.Add(time.Hour))
	if early := c.Entry.Query().Where(entry.IDGTE(pk.ID(first)), entry.IDLTE(pk.ID(last))).IDsX(t.Context()); len(early) != 2 || rows[2].ID == early[1] {
		t.Errorf("of the first hour: %v", early)
	}
	idtest.WantRowError(t, c.Note.Create().SetText("a").Exec(t.Context()), -1, "has no time in CreatedAt")
	idtest.WantRowError(t, create(day).Exec(t.Context()), -1, "got no key")
	if n := c.Entry.Query().CountX(t.Context()); n != 3 {
		t.Errorf("%d rows", n)
	}
}
