package bunid_test

import (
	"errors"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

type (
	checkedUser struct {
		bun.BaseModel `bun:"table:users"`
		bunid.Filled

		ID pk.ID `bun:",pk,type:bigint"` // without the type, bun makes the column count on SQLite
	}
	checkedOrder struct {
		bun.BaseModel `bun:"table:orders"`
		bunid.Filled

		ID       int64        `bun:",pk,type:bigint"`
		UserID   int64        // a foreign key because of the relation
		User     *checkedUser `bun:"rel:belongs-to,join:user_id=id"`
		SellerID pk.ID        // a foreign key because of its type
	}

	// These have keys of other types, in columns that fit. Package matrix fills them.
	stringKey struct {
		bunid.Filled
		ID pk.String `bun:",pk,type:bigint"`
	}
	textKey struct {
		bunid.Filled
		ID pk.Text `bun:",pk,type:varchar(20)"`
	}
	sortKey struct {
		bunid.Filled
		ID pk.SortText `bun:",pk,type:char(13)"`
	}
	unsignedKey struct {
		bunid.Filled
		ID uint64 `bun:",pk"`
	}
)

// TestCheckFits: Check must accept the columns that bun makes for keys, and for rows that the
// database counts.
func TestCheckFits(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		models := []any{
			(*checkedUser)(nil), (*checkedOrder)(nil), (*stranger)(nil),
			(*stringKey)(nil), (*textKey)(nil), (*sortKey)(nil), (*unsignedKey)(nil),
		}
		e := bare(t, db, models...)
		want := ""
		if db.Dialect == "sqlite" { // where bun makes a column without a type an INTEGER, which counts if the key is missing
			want = "blocker:still-counts:unsigned_keys.id"
		}
		if got := idtest.Findings(t, bunid.Check(t.Context(), e.DB, models...)); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	})
}

func TestCheckFinds(t *testing.T) {
	c := rowtest.Check[any]{
		Tables: map[string][]string{
			"postgres": {
				"CREATE TABLE users (id serial PRIMARY KEY)",
				"CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id integer, seller_id integer)",
			},
			"mysql": {
				"CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY)",
				"CREATE TABLE orders (id BIGINT UNSIGNED PRIMARY KEY, user_id INT, seller_id INT)",
			},
			"sqlite": {
				"CREATE TABLE users (id INTEGER PRIMARY KEY)",
				"CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, user_id TEXT)",
			},
		},
		Models: []any{(*checkedUser)(nil), (*checkedOrder)(nil)},
		Want: map[string]string{
			"postgres": "blocker:always-generated:orders.id\nblocker:narrow-child:orders.seller_id\nblocker:narrow-child:orders.user_id\n" +
				"blocker:narrow-key:users.id\nwarning:still-counts:orders.id\nwarning:still-counts:users.id",
			"mysql": "blocker:narrow-child:orders.seller_id\nblocker:narrow-child:orders.user_id\nblocker:narrow-key:users.id\n" +
				"blocker:still-counts:users.id\nwarning:sign-mismatch:orders.id",
			"sqlite": "blocker:missing-column:orders.seller_id\nblocker:still-counts:users.id\nblocker:text-key:orders.user_id",
		},
	}
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		c.Run(t, db, func() error { return bunid.Check(t.Context(), bare(t, db).DB, c.Models...) })
	})
}

func TestCheckDeclarations(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	err := bunid.Check(t.Context(), e.DB, (*nobodys)(nil), (*checkedUser)(nil))
	idtest.WantFieldError(t, err, "ID", "is not filled")
	if found, ok := errors.AsType[*catalog.MismatchError](err); !ok || found.Findings[0].Kind != catalog.MissingTable {
		t.Errorf("of a table that is not there: %v", err)
	}
	type quoted struct {
		sourced
		ID pk.ID `bun:",pk" json:"id,string"`
	}
	idtest.WantFieldError(t, bunid.Check(t.Context(), e.DB, (*quoted)(nil)), "ID", "option string")
	for _, models := range [][]any{nil, {user{}}, {nil}} {
		if err := bunid.Check(t.Context(), e.DB, models...); err == nil {
			t.Errorf("the models %v were found to fit", models)
		}
	}
	if err := bunid.Check(t.Context(), nil, (*user)(nil)); err == nil {
		t.Error("no database was found to fit")
	}
}
