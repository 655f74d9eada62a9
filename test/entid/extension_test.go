//go:build clients

package entid_test

import (
	"context"
	"errors"
	"testing"

	"entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/bulk"
	_ "github.com/snowkey-go/snowkey/test/entid/internal/bulk/runtime"
	"github.com/snowkey-go/snowkey/test/entid/internal/bulk/user"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// A bulkClient is generated with the extension. TestReserve and TestUpsertHazards show
// what the same calls do without it.
type bulkClient struct {
	*bulk.Client
	client // only used for its queries
	src    *idtest.Source
}

func eachBulk(t *testing.T, test func(t *testing.T, c bulkClient)) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		drv := sql.OpenDB(dialects[db.Dialect], db.Connect(t))
		c := bulkClient{bulk.NewClient(bulk.Driver(drv)), client{sql: drv.DB(), db: db}, new(idtest.Source)}
		dbtest.NoError(t, c.Schema.Create(t.Context()))
		c.Use(entid.Hook(c.src))
		test(t, c)
	})
}

func (c bulkClient) users(names ...string) []*bulk.UserCreate {
	var list []*bulk.UserCreate
	for _, name := range names {
		list = append(list, c.User.Create().SetName(name))
	}
	return list
}

// A bulk create makes one reservation, for as many rows as have no id.
func TestExtensionReserves(t *testing.T) {
	eachBulk(t, func(t *testing.T, c bulkClient) {
		ctx := t.Context()
		rows := c.users("a", "b", "c", "d")
		rows[1].SetID(7)
		rows[2].SetID(0)
		us := c.User.CreateBulk(rows...).SaveX(ctx)
		wantDraws(t, c.src, 3)
		want := []pk.ID{low, 7, low + 1, low + 2}
		for i, u := range us {
			if u.ID != want[i] {
				t.Errorf("row %d has %d in memory, want %d", i, u.ID, want[i])
			}
		}
		c.wantRows(t, "SELECT id FROM users ORDER BY name", texts(want...)...)

		c.User.MapCreateBulk(make([]struct{}, 2), func(u *bulk.UserCreate, i int) { u.SetName(string(rune('e' + i))) }).SaveX(ctx)
		c.User.CreateBulk().SaveX(ctx) // makes no reservation
		wantDraws(t, c.src, 3, 2)
	})
}

// Edges in other tables need the ids, so ent must insert these rows in its own way.
func TestExtensionEdges(t *testing.T) {
	eachBulk(t, func(t *testing.T, c bulkClient) {
		ctx := t.Context()
		tags := c.Tag.CreateBulk(c.Tag.Create().SetName("x"), c.Tag.Create().SetName("y")).SaveX(ctx)
		card := c.Card.Create().SetNumber("1").SaveX(ctx)
		rows := c.users("a", "b")
		rows[0].AddFollows(tags[1])
		rows[1].AddFollows(tags[0]).SetCard(card)
		us := c.User.CreateBulk(rows...).SaveX(ctx)
		c.wantRows(t, "SELECT user_id, tag_id FROM user_follows ORDER BY user_id", line(us[0].ID, tags[1].ID), line(us[1].ID, tags[0].ID))
		c.wantRows(t, "SELECT user_card FROM cards", us[1].ID.String())
		posts := c.Post.CreateBulk(c.Post.Create().SetTitle("a").SetAuthor(us[1]), c.Post.Create().SetTitle("b")).SaveX(ctx)
		c.wantRows(t, "SELECT id, author_id FROM posts ORDER BY title", line(posts[0].ID, us[1].ID), line(posts[1].ID, "NULL"))
	})
}

// An existing row keeps its id in every upsert.
func TestExtensionUpsert(t *testing.T) {
	eachBulk(t, func(t *testing.T, c bulkClient) {
		ctx := t.Context()
		options := []sql.ConflictOption{sql.ConflictColumns(user.FieldName), sql.ResolveWithNewValues()}
		a := c.User.Create().SetName("a").SaveX(ctx).ID
		c.User.Create().SetName("a").SetAge(5).OnConflict(options...).ExecX(ctx)
		c.wantRows(t, "SELECT id FROM users WHERE name = 'a' AND age = 5", a.String())

		rows := c.users("a", "b")
		rows[0].SetAge(6)
		c.User.CreateBulk(rows...).OnConflict(options...).ExecX(ctx)
		c.wantRows(t, "SELECT id FROM users WHERE name = 'a' AND age = 6", a.String())
		c.wantRows(t, "SELECT id FROM users ORDER BY name", texts(a, pk.ID(c.src.Last()))...)

		c.User.CreateBulk(c.users("a", "c")...).OnConflictColumns(user.FieldName).DoNothing().ExecX(ctx)
		c.wantRows(t, "SELECT id FROM users WHERE name <> 'b' ORDER BY name", texts(a, pk.ID(c.src.Last()))...)

		if err := c.User.CreateBulk(c.users("d")...).OnConflictColumns(user.FieldName).Exec(ctx); c.db.Dialect != "mysql" && err == nil {
			t.Error("without an action, ent accepts a conflict")
		}
	})
}

// The ID method of an upsert returns the id of the row in the table, on MySQL too, and even if
// the row does not change or its column still counts.
func TestExtensionUpsertID(t *testing.T) {
	eachBulk(t, func(t *testing.T, c bulkClient) {
		ctx := t.Context()
		a, b := c.User.Create().SetName("a").SaveX(ctx).ID, c.User.Create().SetName("b").SaveX(ctx).ID
		wantID := func(t *testing.T, upsert *bulk.UserUpsertOne, want pk.ID) {
			t.Helper()
			if id, err := upsert.ID(ctx); err != nil || id != want {
				t.Errorf("got %v, %v, want %v", id, err, want)
			}
		}
		of := func(name string) *bulk.UserUpsertOne {
			return c.User.Create().SetName(name).SetAge(7).OnConflictColumns(user.FieldName)
		}
		all := func(t *testing.T) {
			wantID(t, of("a").UpdateNewValues(), a)
			wantID(t, of("a").UpdateNewValues(), a) // nothing changes
			wantID(t, of("b").Ignore(), b)
			wantID(t, of("b").Update(func(u *bulk.UserUpsert) { u.AddAge(1) }), b)
			wantID(t, of(t.Name()).UpdateNewValues(), pk.ID(c.src.Last()+1))
			wantID(t, of(t.Name()+"!").Ignore(), pk.ID(c.src.Last()+1))
			if c.db.Dialect == "mysql" { // the others return no row, and ent sql.ErrNoRows
				wantID(t, of("b").DoNothing(), b)
			}
		}
		all(t)
		if c.db.Dialect != "mysql" {
			return
		}
		t.Run("column that counts", func(t *testing.T) {
			c.sql.SetMaxOpenConns(1)
			dbtest.Exec(t, c.sql, "SET FOREIGN_KEY_CHECKS = 0", "ALTER TABLE users MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
			all(t)
		})
		t.Run("typed key", func(t *testing.T) {
			id, err := c.Card.Create().SetNumber("1").OnConflict().UpdateNewValues().ID(ctx)
			if err != nil || id.Int64() != c.src.Last() {
				t.Errorf("got %v, %v, want %d", id, err, c.src.Last())
			}
		})
		t.Run("text keys", func(t *testing.T) {
			upsert := func() *bulk.NoteCreate { return c.Note.Create().SetText("x") }
			upsert().OnConflict().UpdateNewValues().ExecX(ctx)
			if _, err := upsert().OnConflict().UpdateNewValues().ID(ctx); err == nil {
				t.Error("ID of a text key returns no error")
			}
			label := c.Label.Create().SetName("y").SaveX(ctx)
			err := upsert().AddLabels(label).OnConflict().UpdateNewValues().Exec(ctx)
			if _, ok := errors.AsType[*entid.RowError](err); !ok {
				t.Errorf("an upsert with edges: got %v, want a RowError", err)
			}
		})
	})
}

// Without foreign keys, the edges of a bulk upsert would be stored under ids that no row has,
// or under those of other rows. Such calls are refused before anything is inserted. A single
// upsert stores them under the row that exists.
// See https://github.com/ent/ent/issues/4259.
func TestExtensionRefusesStrayEdges(t *testing.T) {
	eachBulk(t, func(t *testing.T, c bulkClient) {
		ctx := t.Context()
		tag := c.Tag.Create().SetName("x").SaveX(ctx)
		c.User.Create().SetName("a").ExecX(ctx)
		rows := func() []*bulk.UserCreate {
			rows := c.users("b", "a")
			rows[1].AddFollows(tag)
			return rows
		}
		one := func() *bulk.UserCreate { return rows()[1] }
		onName := sql.ConflictColumns(user.FieldName)
		for _, call := range []struct {
			name    string
			refused bool
			exec    func(context.Context) error
		}{
			{"DoNothing in bulk", true, c.User.CreateBulk(rows()...).OnConflict(onName).DoNothing().Exec},
			{"UpdateNewValues in bulk", c.db.Dialect == "mysql", c.User.CreateBulk(rows()...).OnConflict(onName).UpdateNewValues().Exec},
			{"Ignore in bulk", c.db.Dialect == "mysql", c.User.CreateBulk(rows()...).OnConflict(onName).Ignore().Exec},
			{"UpdateNewValues", false, one().OnConflict(onName).UpdateNewValues().Exec},
			{"Ignore", false, one().OnConflict(onName).Ignore().Exec},
		} {
			t.Run(call.name, func(t *testing.T) {
				err := call.exec(ctx)
				if !call.refused {
					dbtest.NoError(t, err)
					c.wantRows(t, "SELECT u.name FROM user_follows f JOIN users u ON u.id = f.user_id", "a")
					c.Tag.UpdateOne(tag).ClearFollowers().ExecX(ctx)
					c.User.Delete().Where(user.Name("b")).ExecX(ctx)
					return
				}
				idtest.WantRowError(t, err, -1, "")
				c.wantRows(t, "SELECT name FROM users", "a")
				c.wantRows(t, "SELECT tag_id FROM user_follows")
			})
		}
	})
}
