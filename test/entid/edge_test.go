//go:build clients

package entid_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/user"
)

// The edges of single and bulk creates must have the ids of the rows that they belong
// to.
func TestEdges(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		c.Use(entid.Hook(new(idtest.Source))) // ids are consecutive, so a wrong one belongs to a neighbour
		tags := c.Tag.CreateBulk(c.Tag.Create().SetName("x"), c.Tag.Create().SetName("y")).SaveX(ctx)
		posts := c.Post.CreateBulk(c.Post.Create().SetTitle("1"), c.Post.Create().SetTitle("2"), c.Post.Create().SetTitle("3")).SaveX(ctx)
		cards := c.Card.CreateBulk(c.Card.Create().SetNumber("1"), c.Card.Create().SetNumber("2"), c.Card.Create().SetNumber("3")).SaveX(ctx)

		users := c.User.CreateBulk(
			c.User.Create().SetName("a").AddPosts(posts[0]).SetCard(cards[0]).AddFollows(tags...),
			c.User.Create().SetName("b").AddPosts(posts[1]).SetCard(cards[1]).AddFollows(tags[1]),
		).SaveX(ctx)
		users = append(users, c.User.Create().SetName("c").AddPosts(posts[2]).SetCard(cards[2]).AddFollows(tags[0]).SaveX(ctx))
		a, b, last := users[0].ID, users[1].ID, users[2].ID

		c.wantRows(t, "SELECT author_id FROM posts ORDER BY title", texts(a, b, last)...)
		c.wantRows(t, "SELECT user_card FROM cards ORDER BY number", texts(a, b, last)...)
		c.wantRows(t, "SELECT user_id, tag_id FROM user_follows ORDER BY user_id, tag_id",
			line(a, tags[0].ID), line(a, tags[1].ID), line(b, tags[1].ID), line(last, tags[0].ID))

		// Now from the side of the foreign key, both typed and not.
		p := c.Post.Create().SetTitle("4").SetAuthor(users[1]).SaveX(ctx)
		if p.AuthorID == nil || *p.AuthorID != b {
			t.Errorf("the author of %v is %v, want %v", p.ID, p.AuthorID, b)
		}
		e := c.Event.CreateBulk(
			c.Event.Create().SetKind("paid").SetCard(cards[0]),
			c.Event.Create().SetKind("lost").SetCardID(cards[1].ID),
		).SaveX(ctx)
		c.wantRows(t, "SELECT id, card_id FROM events ORDER BY id", line(e[0].ID, cards[0].ID), line(e[1].ID, cards[1].ID))

		// It must be possible to read all of these rows back.
		got := c.User.Query().Where(user.Name("a")).WithPosts().WithCard().WithFollows().OnlyX(ctx).Edges
		if len(got.Posts) != 1 || got.Posts[0].ID != posts[0].ID || got.Card.ID != cards[0].ID || len(got.Follows) != 2 {
			t.Errorf("the edges of a came back as %v", got)
		}
	})
}

// If the rows of an edge schema with ids are created as entities, each gets its own id.
// However, ent runs no hooks if they are added through the edge, so the database must
// refuse both them and the row that they belong to.
func TestThrough(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		tags := c.Tag.CreateBulk(c.Tag.Create().SetName("x"), c.Tag.Create().SetName("y")).SaveX(ctx)
		p := c.Post.Create().SetTitle("p").SaveX(ctx)
		taggings := c.Tagging.CreateBulk(
			c.Tagging.Create().SetPost(p).SetTag(tags[0]),
			c.Tagging.Create().SetPost(p).SetTag(tags[1]),
		).SaveX(ctx)
		rows := []string{line(taggings[0].ID, tags[0].ID), line(taggings[1].ID, tags[1].ID)}
		c.wantRows(t, "SELECT id, tag_id FROM taggings ORDER BY id", rows...)
		if n := p.QueryTags().CountX(ctx); n != 2 {
			t.Errorf("the post has %d tags, want 2", n)
		}

		for name, create := range map[string]func() error{
			"one":    func() error { return c.Post.Create().SetTitle("q").AddTags(tags[0]).Exec(ctx) },
			"two":    func() error { return c.Post.Create().SetTitle("q").AddTags(tags...).Exec(ctx) },
			"bulk":   func() error { return c.Post.CreateBulk(c.Post.Create().SetTitle("q").AddTags(tags...)).Exec(ctx) },
			"update": func() error { return p.Update().ClearTags().AddTags(tags...).Exec(ctx) },
		} {
			if err := create(); err == nil || !strings.Contains(err.Error(), "taggings") || !strings.Contains(err.Error(), "id") {
				t.Errorf("%s: got %v, want an error about the id of taggings", name, err)
			}
		}
		c.wantRows(t, "SELECT id, tag_id FROM taggings ORDER BY id", rows...)
		c.wantRows(t, "SELECT title FROM posts", "p")
	})
}

// If an edge schema has a composite id, no hook has anything to fill in.
func TestCompositeKey(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		c.Use(entid.Hook(new(idtest.Source)))
		posts := c.Post.CreateBulk(c.Post.Create().SetTitle("1"), c.Post.Create().SetTitle("2"), c.Post.Create().SetTitle("3")).SaveX(ctx)
		a := c.User.Create().SetName("a").AddLiked(posts[0], posts[1]).SaveX(ctx)
		c.Like.Create().SetUser(a).SetPost(posts[2]).ExecX(ctx)
		b := c.User.CreateBulk(c.User.Create().SetName("b").AddLiked(posts...)).SaveX(ctx)[0]
		var want []string
		for _, u := range []*ent.User{a, b} {
			for _, p := range posts {
				want = append(want, line(u.ID, p.ID))
			}
		}
		c.wantRows(t, "SELECT user_id, post_id FROM likes ORDER BY user_id, post_id", want...)
	})
}
