//go:build clients

package entid_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/note"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/user"
)

// The generated predicates and orders must work with keys, without rounding any.
func TestPredicates(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		c.Use(entid.Hook(newCounter()))
		us := c.User.MapCreateBulk(make([]struct{}, 7), func(u *ent.UserCreate, i int) { u.SetName(string(rune('g' - i))) }).SaveX(ctx)
		const first = pk.ID(low)
		for name, test := range map[string]struct {
			query *ent.UserQuery
			want  []pk.ID
		}{
			"IDEQ":  {c.User.Query().Where(user.IDEQ(first + 1)), []pk.ID{first + 1}},
			"IDNEQ": {c.User.Query().Where(user.IDNEQ(first+1), user.IDLT(first+3)), []pk.ID{first, first + 2}},
			"IDIn":  {c.User.Query().Where(user.IDIn(first+2, first+4)), []pk.ID{first + 2, first + 4}},
			"IDGT":  {c.User.Query().Where(user.IDGT(first + 4)), []pk.ID{first + 5, first + 6}},
			"IDLTE": {c.User.Query().Where(user.IDLTE(first + 1)), []pk.ID{first, first + 1}},
		} {
			if got := test.query.Order(user.ByID()).IDsX(ctx); !slices.Equal(got, test.want) {
				t.Errorf("%s found %v, want %v", name, got, test.want)
			}
		}

		// Read the table in pages, in the order of creation.
		var pages []pk.ID
		for last := pk.ID(0); ; last = pages[len(pages)-1] {
			page := c.User.Query().Where(user.IDGT(last)).Order(user.ByID()).Limit(3).IDsX(ctx)
			if len(page) == 0 {
				break
			}
			pages = append(pages, page...)
		}
		if len(pages) != len(us) || !slices.IsSorted(pages) {
			t.Errorf("the pages hold %v", pages)
		}
	})
}

// The order of sortable text must be the order of the numbers, and the database must
// agree. This includes cases where a digit follows a letter, or where lengths would
// differ.
func TestSortTextOrder(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		want := []pk.SortText{9, 10, 31, 32, 33, 1 << 40, low, high, 1<<63 - 1}
		for _, id := range []pk.SortText{high, 32, 1 << 40, 9, 1<<63 - 1, 33, 10, low, 31} {
			c.Note.Create().SetID(id).SetText("").ExecX(ctx)
		}
		if got := c.Note.Query().Order(note.ByID()).IDsX(ctx); !slices.Equal(got, want) {
			t.Errorf("ordered by id: %d, want %d", got, want)
		}
		if got := c.Note.Query().Where(note.IDGT(low), note.IDLT(1<<63-1)).OnlyIDX(ctx); got != high {
			t.Errorf("above %d comes %d, want %d", int64(low), got, int64(high))
		}
	})
}

// In an entity's JSON, the key is a string, so that JavaScript doesn't round it.
func TestJSON(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		u := c.User.Create().SetID(low).SetName("a").SaveX(t.Context())
		b, err := json.Marshal(u)
		if want := `{"id":"9007199254740993","name":"a","edges":{}}`; err != nil || string(b) != want {
			t.Errorf("got %s, %v; want %s", b, err, want)
		}
		var back ent.User
		if err := json.Unmarshal(b, &back); err != nil || back.ID != low {
			t.Errorf("read back as %v, %v", back.ID, err)
		}
	})
}
