package bunid_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Every option that affects the key of an INSERT must be noticed, even if it's the only
// one.
func TestNoOptionIsPlain(t *testing.T) {
	e := open(t, dbtest.SQLite(t), (*user)(nil))
	for name, tc := range map[string]struct {
		change  func(q *bun.InsertQuery) *bun.InsertQuery
		refused bool
	}{
		"none":          {func(q *bun.InsertQuery) *bun.InsertQuery { return q }, false},
		"Column":        {func(q *bun.InsertQuery) *bun.InsertQuery { return q.Column("name") }, true},
		"ExcludeColumn": {func(q *bun.InsertQuery) *bun.InsertQuery { return q.ExcludeColumn("id") }, true},
		"Value":         {func(q *bun.InsertQuery) *bun.InsertQuery { return q.Value("id", "7") }, true},
		"Returning":     {func(q *bun.InsertQuery) *bun.InsertQuery { return q.Ignore().Returning("name") }, true},
		"Ignore":        {func(q *bun.InsertQuery) *bun.InsertQuery { return q.Ignore() }, false},
		"On":            {func(q *bun.InsertQuery) *bun.InsertQuery { return q.On("CONFLICT DO NOTHING").Returning("NULL") }, true},
		"Comment":       {func(q *bun.InsertQuery) *bun.InsertQuery { return q.Comment(`it\'s`) }, true},
		"TableExpr": {func(q *bun.InsertQuery) *bun.InsertQuery {
			return q.TableExpr("(SELECT 1 AS id, 'x' AS name) AS t")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			row := user{Name: name}
			_, err := tc.change(e.NewInsert().Model(&row)).Exec(context.WithValue(t.Context(), sourceKey{}, e.source))
			if (err != nil) != tc.refused || err == nil && row.ID <= pk.ID(1<<53) {
				t.Errorf("key %d, error %v", row.ID, err)
			}
		})
	}
}
