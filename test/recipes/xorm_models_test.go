package recipes

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type (
	seed struct {
		ID   pk.ID `xorm:"pk 'id'"`
		Name string
	}
	numbered struct {
		ID   int `xorm:"pk BIGINT 'id'" snowkey:""` // without BIGINT, the column has 32 bits
		Name string
	}
	texted struct {
		ID   pk.String `xorm:"pk BIGINT 'id'"`
		Name string
	}
)

// TestXormModels covers what programs that move to generated keys have: tables that Sync made,
// rows that are inserted by value, and models whose ID is an int or a string.
func TestXormModels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		engine, ctx := newEngine(t, about), t.Context()
		keys := sqlid.New(new(idtest.Source))
		dbtest.NoError(t, engine.Sync(new(seed), new(numbered), new(texted)))
		if about.Dialect != "sqlite" { // which can't add a check to a table
			dbtest.Must(engine.Exec("ALTER TABLE seed ADD CHECK (id > 0)"))(t)
			if _, err := engine.Insert(&seed{Name: "forgotten"}); err == nil {
				t.Error("the key 0 was stored")
			}
			if err := engine.Sync(new(seed)); err != nil {
				t.Errorf("Sync with a check: %v", err)
			}
		}
		err := Insert(ctx, engine.NewSession(), keys, seed{Name: "by value"})
		if _, ok := errors.AsType[*sqlid.RowError](err); !ok {
			t.Errorf("a row by value: got %v, want a RowError", err)
		}
		n, s := numbered{Name: "n"}, texted{Name: "s"}
		for _, row := range []any{&n, &s} {
			dbtest.NoError(t, Insert(ctx, engine.NewSession(), keys, row))
		}
		var gotN numbered
		var gotS texted
		if ok, err := engine.ID(n.ID).Get(&gotN); !ok || err != nil || gotN != n {
			t.Errorf("got %v, %v, %v, want %v", gotN, ok, err, n)
		}
		if ok, err := engine.ID(s.ID).Get(&gotS); !ok || err != nil || gotS != s {
			t.Errorf("got %v, %v, %v, want %v", gotS, ok, err, s)
		}
	})
}
