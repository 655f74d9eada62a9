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

// These models have a BeforeInsert, either their own or one from an embedded struct.
type (
	ownByPointer struct{ filledBase }
	ownByValue   struct {
		bunid.Filled
		ID int64 `bun:",pk"`
	}
	ambiguous struct {
		bunid.Filled
		audited
		ID string `bun:",pk"`
	}
	twice struct {
		filledBase
		second
	}
	panicking struct{ *filledBase }
	closing   struct{ filledBase }
	nobodys   struct{ unfilledBase }
	careless  struct {
		audited
		unfilledBase
	}

	calling   struct{ filledBase }
	byItself  struct{ unfilledBase }
	deep      struct{ filledBase }
	byPointer struct {
		*bunid.Filled
		ID pk.ID `bun:",pk"`
	}
	appending         struct{ filledBase }
	panickingStranger struct {
		*audited
		ID string `bun:",pk"`
	}

	letter struct {
		ID       int64 `bun:",pk,autoincrement"`
		AuthorID pk.ID
		Author   *deep `bun:"rel:belongs-to,join:author_id=id"`
	}
	Endless struct {
		*Endless
		ID int64 `bun:",pk"`
	}

	filledBase struct {
		bunid.Filled
		ID pk.ID `bun:",pk"`
	}
	unfilledBase struct {
		ID pk.ID `bun:",pk"`
	}
	second  struct{ bunid.Filled }
	audited struct {
		By string
	}
)

func (*ownByPointer) BeforeInsert(context.Context, *bun.InsertQuery) error { return nil }

func (ownByValue) BeforeInsert(context.Context, *bun.InsertQuery) error { return errors.New("no") }

func (a *audited) BeforeInsert(context.Context, *bun.InsertQuery) error { a.By = "me"; return nil }

// BeforeInsert starts by querying the database, which must fail if it's called by Use.
func (*closing) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	if err := q.DB().PingContext(ctx); err != nil {
		return err
	}
	return bunid.Fill(ctx, q, nil)
}

func (*calling) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	if err := bunid.Fill(ctx, q, nil); err != nil {
		return err
	}
	panic("Use must not get past Fill")
}

func (*byItself) BeforeInsert(_ context.Context, q *bun.InsertQuery) error {
	q.GetModel().Value().(*byItself).ID = 7
	return nil
}

func (*appending) BeforeAppendModel(context.Context, bun.Query) error { return nil }

func TestUse(t *testing.T) {
	const shadows = "has a BeforeInsert of its own, which shadows that of bunid.Filled"
	for _, c := range []struct {
		model   any
		problem string // empty if there is no problem
		field   string
	}{
		{(*ownByPointer)(nil), shadows, ""},
		{(*ownByValue)(nil), shadows, ""},
		{(*closing)(nil), shadows, ""},
		{(*ambiguous)(nil), "so that Go promotes neither", ""},
		{(*twice)(nil), "so that Go promotes neither", ""},
		{(*panicking)(nil), "has a BeforeInsert that panics for an empty row: runtime error: invalid memory address", ""},
		{(*nobodys)(nil), "is not filled", "ID (pk.ID)"},
		{(*careless)(nil), "is not filled", "ID (pk.ID)"},
		{(*calling)(nil), "", ""},
		{(*byItself)(nil), "", ""},
		{(*deep)(nil), "", ""},
		{(*byPointer)(nil), "", ""},
		{(*appending)(nil), "", ""},
		{(*panickingStranger)(nil), "", ""},
		{(*letter)(nil), "", ""},
		{(*Endless)(nil), "", ""},
		{(*byHand)(nil), "", ""},
		{(*boss)(nil), "", ""},
		{(*pair)(nil), "", ""},
	} {
		_, err := bunid.Use(bare(t, dbtest.SQLite(t)).DB, c.model)
		switch {
		case c.problem != "":
			idtest.WantFieldError(t, err, c.field, c.problem)
		case err != nil:
			t.Errorf("%T: %v", c.model, err)
		}
	}
}

// TestUseNamesAll: Use must report all faults at once, both of listed and registered
// models.
func TestUseNamesAll(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	e.RegisterModel((*ownByValue)(nil), (*user)(nil))
	_, err := bunid.Use(e.DB, (*ownByPointer)(nil), (*nobodys)(nil), (*deep)(nil))
	for _, model := range []string{"nobodys", "ownByPointer", "ownByValue"} {
		if err == nil || !strings.Contains(err.Error(), "bunid: bunid_test."+model) {
			t.Errorf("%s is not in the error %v", model, err)
		}
	}
	if strings.Count(fmt.Sprint(err), "bunid: ") != 3 {
		t.Errorf("the error names other models: %v", err)
	}
}

func TestUseRefusesWhatIsNoModel(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	for _, model := range []any{nil, user{}, 7, new(int), &[]user{}} {
		_, err := bunid.Use(e.DB, model)
		idtest.WantFieldError(t, err, "", "is not a model")
	}
}

// TestUseSendsNothing: Use must neither draw an id nor open a connection.
func TestUseSendsNothing(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	e.conn.Close()
	dbtest.Must(bunid.Use(e.DB, (*user)(nil), (*deep)(nil)))(t)
}

// TestGuardJudgesOnce: a model that wasn't listed gets checked when its first row is
// inserted.
func TestGuardJudgesOnce(t *testing.T) {
	e := open(t, dbtest.SQLite(t))
	dbtest.Must(e.NewCreateTable().Model((*counting)(nil)).Exec(t.Context()))(t)
	for i := range 3 {
		e.insert(t, &counting{ID: pk.ID(i + 1)})
	}
	if counted != 4 {
		t.Errorf("BeforeInsert was called %d times for 3 rows, want one more", counted)
	}
}

// If a model's keys are generated by the database, Use must not call its hooks.
func TestUseLeavesStrangersAlone(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	e.RegisterModel((*stranger)(nil))
	e.use(t, (*user)(nil), (*stranger)(nil)) // bun needs the list for relations
	dbtest.Must(e.NewCreateTable().Model((*stranger)(nil)).Exec(t.Context()))(t)
	for range 2 {
		e.insert(t, new(stranger))
	}
	if strangerCalls != 2 {
		t.Errorf("BeforeInsert was called %d times for 2 rows", strangerCalls)
	}
}

// A registered model that fills an int64 in its own BeforeInsert must be guarded in the
// same way as a listed one.
func TestGuardOfRegisteredModel(t *testing.T) {
	e := bare(t, dbtest.SQLite(t), (*registered)(nil))
	e.RegisterModel((*registered)(nil))
	e.use(t)
	_, err := e.NewInsert().Model(&map[string]any{"name": "a"}).Table("registereds").Exec(t.Context())
	idtest.WantRowError(t, err, -1, "a map without its key id")
	values := e.NewValues(&[]registered{{Name: "b"}})
	if _, err := e.NewInsert().With("data", values).Table("registereds").TableExpr("data").Exec(t.Context()); err == nil {
		t.Error("rows of NewValues without keys were taken")
	}
	e.wantTable(t, "SELECT id FROM registereds")
}

type registered struct {
	sourced
	ID   int64 `bun:",pk"`
	Name string
}

type stranger struct {
	ID   int64 `bun:",pk,autoincrement"`
	Name string
}

var strangerCalls int

func (*stranger) BeforeInsert(context.Context, *bun.InsertQuery) error { strangerCalls++; return nil }

type counting struct {
	ID pk.ID `bun:",pk"`
}

var counted int

func (*counting) BeforeInsert(context.Context, *bun.InsertQuery) error { counted++; return nil }
