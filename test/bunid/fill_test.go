package bunid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestFillRefuses: Fill must refuse an INSERT that would store a key other than the one
// in memory.
func TestFillRefuses(t *testing.T) {
	type note struct {
		bun.BaseModel `bun:"table:users"`
		ID            pk.ID `bun:",pk"`
	}
	eachWith(t, []any{(*user)(nil)}, func(t *testing.T, e *env) {
		for _, c := range []struct {
			name    string
			set     func(q query) query
			row     int
			problem string
		}{
			{"Column without the key", func(q query) query { return q.Model(&user{Name: "a"}).Column("name") }, -1, "without its key id"},
			{"Column without a given key", func(q query) query {
				return q.Model(&user{ID: idA, Name: "a"}).Column("name")
			}, -1, "without its key id"},
			{"ExcludeColumn of the key", func(q query) query {
				return q.Model(&[]user{{Name: "a"}}).ExcludeColumn("id")
			}, -1, "without its key id"},
			{"Value for the key", func(q query) query {
				return q.Model(&user{Name: "a"}).Value("id", "?", idA)
			}, -1, "has its key set by Value"},
			{"expression for the key", func(q query) query {
				return q.Model(&user{ID: idA, Name: "a"}).Value("id", "1 + 1")
			}, -1, "has its key set by Value"},
			{"backslash before a quote", func(q query) query {
				return q.Model(&user{Name: "a"}).Value("name", `'it\'s'`)
			}, -1, "the end of the text is ambiguous"},
			{"backslash in a comment", func(q query) query {
				return q.Model(&user{Name: "a"}).Comment(`it\'s`)
			}, -1, "the end of the text is ambiguous"},
			{"TableExpr", func(q query) query {
				return q.Model(&user{Name: "a"}).TableExpr("(SELECT 1 AS id, 'x' AS name) AS t")
			}, -1, noHooks},
			{"nil pointer", func(q query) query { return q.Model((*user)(nil)) }, -1, "without a row"},
			{"no rows", func(q query) query { return q.Model(&[]user{}) }, -1, "without a row"},
			{"nil row", func(q query) query { return q.Model(&[]*user{{Name: "a"}, nil}) }, 1, "is nil"},
			{"nil interface", func(q query) query { return q.Model(&[]any{&user{Name: "a"}, nil}) }, 1, "is nil"},
			{"row of another model", func(q query) query { return q.Model(&[]any{&user{Name: "a"}, &note{}}) }, 1, "is a bunid_test.note"},
			{"row by value", func(q query) query { return q.Model(&[]any{&user{Name: "a"}, user{Name: "b"}}) }, 1, "by value"},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, err := c.set(e.NewInsert()).Exec(e.context(t))
				idtest.WantRowError(t, err, c.row, c.problem)
				e.wantTable(t, "SELECT id FROM users")
			})
		}
		if e.source.Calls() != 0 {
			t.Errorf("keys were drawn %d times", e.source.Calls())
		}
	})
}

// TestSourceFails: the source's error must reach the caller. Nothing may be inserted,
// and the rows must not change. Package matrix tries this for an INSERT without conflicts.
func TestSourceFails(t *testing.T) {
	e := open(t, dbtest.SQLite(t), (*user)(nil))
	e.source.Err = errors.New("no more")
	us := []user{{Name: "a"}, {ID: idA, Name: "b"}, {Name: "c"}}
	for _, err := range []error{
		bunid.FillRows(e.context(t), e, &us, e.source),
		exec(upsert(e.NewInsert().Model(&us)).Returning("*").Exec(e.context(t))),
	} {
		idtest.WantRowError(t, err, -1, "got no keys for 2 rows: no more")
		if !errors.Is(err, e.source.Err) {
			t.Errorf("%v does not wrap %v", err, e.source.Err)
		}
	}
	if us[0].ID != 0 || us[1].ID != idA || us[2].ID != 0 {
		t.Errorf("the rows are %v", us)
	}
	e.wantTable(t, "SELECT id FROM users")
}

// TestRefusesWhatHasNoKey: Fill and FillRows need a model, and a source that has the generator
// of its tag.
func TestRefusesWhatHasNoKey(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	for _, q := range []query{e.NewInsert().Table("users"), e.NewInsert().Model(&map[string]any{}).Table("users")} {
		idtest.WantRowError(t, bunid.Fill(t.Context(), q, e.source), -1, "has no model")
	}
	for _, rows := range []any{nil, 7, new(int), user{Name: "a"}, []user{{Name: "a"}}, map[string]any{}, &[]any{&user{}}, new(*user)} {
		err := bunid.FillRows(t.Context(), e, rows, e.source)
		if e, ok := errors.AsType[*bunid.RowError](err); !ok || e.Remedy == "" {
			t.Errorf("FillRows of a %T: %v", rows, err)
		}
	}
	if err := bunid.FillRows(t.Context(), e, (*user)(nil), e.source); err != nil || e.source.Calls() != 0 {
		t.Errorf("FillRows of no row: %v", err)
	}
	type order struct {
		ID pk.ID `bun:",pk" snowkey:"orders"`
	}
	err := bunid.FillRows(t.Context(), e, new(order), e.source)
	idtest.WantFieldError(t, err, "ID (pk.ID)", `names the generator "orders", but its source is a *idtest.Source, not a pool`)
}

// TestFillLeavesTheQueryAlone: bun must generate exactly the query that it would have
// for rows that already have keys.
func TestFillLeavesTheQueryAlone(t *testing.T) {
	eachWith(t, []any{(*stamped)(nil)}, func(t *testing.T, e *env) {
		sent := new(tracer)
		e.DB = e.WithQueryHook(sent)
		for _, s := range []stamped{{Name: "a"}, {ID: idA, Name: "b"}} {
			e.insert(t, &[]stamped{s})
		}
		want := strings.NewReplacer(fmt.Sprint(e.source.Last()), fmt.Sprint(idA), "'a'", "'b'").Replace(sent.queries[0])
		if sent.queries[1] != want || strings.Contains(want, "RETURNING") {
			t.Errorf("with keys drawn %s\nand given %s", sent.queries[0], sent.queries[1])
		}
	})
}

// stamped has a column that bun reads back, unless the hook has set it.
type stamped struct {
	sourced
	ID      pk.ID `bun:",pk"`
	Name    string
	Created int64 `bun:",nullzero,notnull,default:7"`
}

func (s *stamped) BeforeAppendModel(context.Context, bun.Query) error { s.Created = 1; return nil }
