package bunid_test

import (
	"context"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These are models of the table users whose hook either doesn't run or doesn't call
// Fill.
type (
	unfilled struct {
		bun.BaseModel `bun:"table:users"`
		ID            pk.ID `bun:",pk"`
		Name          string
	}
	shadowed struct {
		bun.BaseModel `bun:"table:users"`
		bunid.Filled
		ID   int64 `bun:",pk"`
		Name string
	}
	emptied struct {
		bun.BaseModel `bun:"table:users"`
		sourced
		ID   pk.ID `bun:",pk"`
		Name string
	}
	byHand struct {
		bun.BaseModel `bun:"table:users"`
		ID            pk.ID `bun:",pk" snowkey:"-"`
		Name          string
	}
	boss struct {
		bun.BaseModel `bun:"table:users"`
		ID            pk.ID `bun:",pk"`
		Name          string
		User          *user `bun:"rel:belongs-to,join:id=id"`
	}
	pair struct {
		bun.BaseModel `bun:"table:pairs"`
		UserID        pk.ID `bun:",pk"`
		OtherID       pk.ID `bun:",pk"`
	}
)

func (*shadowed) BeforeInsert(context.Context, *bun.InsertQuery) error { return nil }

func (m *emptied) BeforeAppendModel(context.Context, bun.Query) error { m.ID = 0; return nil }

func exec[T any](_ T, err error) error { return err }

func insertMap(m map[string]any, set func(q query) query) func(context.Context, bun.IDB) error {
	return func(ctx context.Context, db bun.IDB) error { return exec(set(db.NewInsert().Model(&m)).Exec(ctx)) }
}

func toUsers(q query) query { return q.Table("users") }

func insert(model any) func(context.Context, bun.IDB) error {
	return func(ctx context.Context, db bun.IDB) error { return exec(db.NewInsert().Model(model).Exec(ctx)) }
}

const noHooks = "bun calls no hooks for"

// refused lists ways to insert a user without a key by bypassing the hooks.
var refused = []struct {
	name    string
	only    string // the only dialect to try this on; all if empty
	do      func(ctx context.Context, db bun.IDB) error
	row     int
	problem string
}{
	{"map", "", insertMap(map[string]any{"name": "a"}, toUsers), -1, "a map without its key id"},
	{"map with zero", "", insertMap(map[string]any{"name": "a", "id": 0}, toUsers), -1, "a map without its key id"},
	{"map with nil", "", insertMap(map[string]any{"name": "a", "id": nil}, toUsers), -1, "a map without its key id"},
	{"map with a zero key", "", insertMap(map[string]any{"name": "a", "id": new(pk.ID)}, toUsers), -1, "a map without its key id"},
	{"map with TableExpr", "", insertMap(map[string]any{"name": "a"}, func(q query) query {
		return q.TableExpr("USERS")
	}), -1, "a map without its key id"},
	{"map with ModelTableExpr", "", insertMap(map[string]any{"name": "a"}, func(q query) query {
		return q.ModelTableExpr("?", bun.Ident("users"))
	}), -1, "a map without its key id"},
	{"map with a schema", "postgres", insertMap(map[string]any{"name": "a"}, func(q query) query {
		return q.Table("public.users")
	}), -1, "a map without its key id"},

	{"NewValues", "", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewInsert().With("data", db.NewValues(&[]user{{Name: "a"}})).Model((*user)(nil)).Table("data").Exec(ctx))
	}, -1, noHooks},
	{"NewValues without a model", "", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewInsert().With("data", db.NewValues(&[]user{{Name: "a"}})).Table("users", "data").Exec(ctx))
	}, -1, noHooks},
	{"NewValues of maps", "", func(ctx context.Context, db bun.IDB) error {
		maps := []map[string]any{{"id": 0, "name": "a"}}
		return exec(db.NewInsert().With("data", db.NewValues(&maps)).Model((*user)(nil)).Column("id", "name").Table("data").Exec(ctx))
	}, -1, noHooks},
	{"NewValues and a model without a hook", "", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewInsert().With("data", db.NewValues(&[]unfilled{{Name: "a"}})).Model((*unfilled)(nil)).Table("data").Exec(ctx))
	}, -1, noHooks},
	{"NewValues in SQL by hand", "", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewRaw("insert into users (id, name, age) ?", db.NewValues(&[]user{{Name: "a"}})).Exec(ctx))
	}, -1, noHooks},
	{"INSERT SELECT", "", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewInsert().Model((*user)(nil)).Column("id", "name", "age").TableExpr("(SELECT 0 AS id, 'a' AS name, 1 AS age) AS x").Exec(ctx))
	}, -1, noHooks},
	{"MERGE", "postgres", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewMerge().Model((*user)(nil)).With("data", db.NewValues(&[]user{{Name: "a"}})).
			Using("data").On("?TableAlias.name = data.name").
			WhenInsert("NOT MATCHED", func(q query) query {
				return q.ExcludeColumn("*").Value("id", "data.id").Value("name", "data.name").Column("id", "name")
			}).Exec(ctx))
	}, -1, noHooks},
	{"INSERT inside WITH of a SELECT", "postgres", func(ctx context.Context, db bun.IDB) error {
		var names []string
		return db.NewSelect().With("x", db.NewInsert().Model(&user{Name: "a"}).Returning("name")).Table("x").Column("name").Scan(ctx, &names)
	}, -1, noHooks},
	{"INSERT inside WITH of a count", "postgres", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewSelect().With("x", db.NewInsert().Model(&user{Name: "a"}).Returning("name")).Table("x").Count(ctx))
	}, -1, noHooks},
	{"INSERT inside WITH of a DELETE", "postgres", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewDelete().With("x", db.NewInsert().Model(&user{Name: "a"})).Model((*pair)(nil)).Where("TRUE").Exec(ctx))
	}, -1, noHooks},
	{"INSERT inside WITH of an INSERT", "postgres", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewInsert().With("x", db.NewInsert().Model(&user{Name: "a"})).Model(&user{Name: "b"}).Exec(ctx))
	}, -1, noHooks},
	{"INSERT inside WITH of an UPDATE", "postgres", func(ctx context.Context, db bun.IDB) error {
		return exec(db.NewUpdate().With("x", db.NewInsert().Model(&unfilled{Name: "a"})).Model((*user)(nil)).Set("age = 1").Where("TRUE").Exec(ctx))
	}, -1, noHooks},

	{"model without a hook", "", insert(&unfilled{Name: "a"}), 0, "has no key: bunid: bunid_test.unfilled.ID (pk.ID) is not filled"},
	{"rows without a hook", "", insert(&[]unfilled{{ID: idA, Name: "a"}, {Name: "b"}}), 1, "is not filled"},
	{"model whose hook shadows", "", insert(&shadowed{Name: "a"}), 0, "has a BeforeInsert of its own, which shadows"},
	{"model that empties its key", "", insert(&emptied{Name: "a"}), 0, "has lost its key since it was filled"},
	{"key that is set by hand", "", insert(&byHand{Name: "a"}), 0, `has no key, and ID is tagged snowkey:"-"`},
	{"key that is a foreign key", "", insert(&boss{Name: "a"}), 0, "has no key, and ID is a foreign key"},
	{"composite key", "", insert(&[]pair{{UserID: idA, OtherID: idB}, {UserID: idA}}), 1, "has no key, and OtherID is part of a composite key"},
}

// TestGuardRefuses: if the hooks were bypassed, an INSERT must fail before anything is
// sent, so that the transaction can continue.
func TestGuardRefuses(t *testing.T) {
	eachWith(t, []any{(*user)(nil), (*pair)(nil)}, func(t *testing.T, e *env) {
		for _, c := range refused {
			if c.only != "" && c.only != e.about.Dialect {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				ctx := e.context(t)
				check := func(t *testing.T, err error) {
					t.Helper()
					idtest.WantRowError(t, err, c.row, c.problem)
				}
				check(t, c.do(ctx, e.DB))

				tx := dbtest.Must(e.BeginTx(ctx, nil))(t)
				check(t, c.do(ctx, tx))
				if _, err := tx.NewInsert().Model(&user{ID: idA, Name: "z"}).Exec(ctx); err != nil {
					t.Errorf("the transaction does not go on: %v", err)
				}
				dbtest.NoError(t, tx.Commit())

				conn := dbtest.Must(e.Conn(ctx))(t)
				check(t, c.do(ctx, conn))
				conn.Close()

				e.wantTable(t, "SELECT id, name FROM users", line(idA, "z"))
				e.wantTable(t, "SELECT user_id FROM pairs")
				e.exec(t, "DELETE FROM users")
			})
		}
	})
}

// TestGuardLets: rows that have keys must be sent, and so must rows of tables that the
// guard doesn't know.
func TestGuardLets(t *testing.T) {
	type stranger struct {
		ID   int64 `bun:",pk,autoincrement"`
		Name string
	}
	eachWith(t, []any{(*user)(nil), (*pair)(nil), (*stranger)(nil)}, func(t *testing.T, e *env) {
		ctx := e.context(t)
		for name, do := range map[string]func(ctx context.Context, db bun.IDB) error{
			"map with a number":    insertMap(map[string]any{"id": int64(idA), "name": "INSERT INTO users"}, toUsers),
			"map with a key":       insertMap(map[string]any{"id": idA, "name": "a"}, toUsers),
			"map with a pointer":   insertMap(map[string]any{"id": new(idA), "name": "a"}, toUsers),
			"map with text":        insertMap(map[string]any{"id": "9007199254740993", "name": "a"}, toUsers),
			"key set before":       insert(&unfilled{ID: idA, Name: "a"}),
			"key set past shadows": insert(&shadowed{ID: int64(idA), Name: "a"}),
			"key set by hand":      insert(&byHand{ID: idA, Name: "a"}),
			"foreign key":          insert(&boss{ID: idA, Name: "a"}),
			"SQL by hand": func(ctx context.Context, db bun.IDB) error {
				return exec(db.NewRaw("INSERT INTO users (id, name) VALUES (?, ?)", idA, "VALUES (").Exec(ctx))
			},
			"query with data that looks like SQL": func(ctx context.Context, db bun.IDB) error {
				if err := exec(db.NewInsert().Model(&user{ID: idA, Name: "INTO users ("}).Exec(ctx)); err != nil {
					return err
				}
				return exec(db.NewUpdate().Model(&user{ID: idA, Name: "INSERT INTO users (id) VALUES (0)"}).WherePK().Exec(ctx))
			},
		} {
			t.Run(name, func(t *testing.T) {
				dbtest.NoError(t, do(ctx, e.DB))
				e.wantTable(t, "SELECT id FROM users", line(idA))
				e.exec(t, "DELETE FROM users")
			})
		}
		t.Run("others", func(t *testing.T) {
			for _, model := range []any{&stranger{Name: "a"}, &[]pair{{UserID: idA, OtherID: idB}}} {
				dbtest.NoError(t, insert(model)(ctx, e.DB))
			}
			m := map[string]any{"name": "b"}
			dbtest.Must(e.NewInsert().Model(&m).Table("strangers").Exec(ctx))(t)
			dbtest.Must(e.NewUpdate().Model((*stranger)(nil)).Set("name = ?", "c").Where("id = ?", 1).Exec(ctx))(t)
			e.wantTable(t, "SELECT id, name FROM strangers ORDER BY id", "1 c", "2 b")
			e.wantTable(t, "SELECT user_id, other_id FROM pairs", line(idA, idB))
			if e.about.Dialect != "mysql" { // which has no UPDATE FROM
				e.insert(t, &user{ID: idA, Name: "ada"})
				dbtest.Must(e.NewUpdate().With("data", e.NewValues(&[]user{{Name: "ada", Age: 8}})).Model((*user)(nil)).
					TableExpr("data").Set("age = data.age").Where("?TableAlias.name = data.name").Exec(ctx))(t)
				e.wantTable(t, "SELECT id, age FROM users", line(idA, 8))
			}
		})
	})
}

// TestRefusalReachesOtherHooks: hooks that trace queries must see the refusal as an
// error, regardless of whether they come before or after the guard.
func TestRefusalReachesOtherHooks(t *testing.T) {
	e := bare(t, dbtest.SQLite(t), (*user)(nil))
	before, after := new(tracer), new(tracer)
	e.DB = e.WithQueryHook(before)
	e.use(t, (*user)(nil))
	e.DB = e.WithQueryHook(after)
	m := map[string]any{"name": "a"}
	_, err := e.NewInsert().Model(&m).Table("users").Exec(t.Context())
	idtest.WantRowError(t, err, -1, "a map without its key id")
	for _, hook := range []*tracer{before, after} {
		if len(hook.errs) != 1 || hook.errs[0] != err {
			t.Errorf("the hook has seen %v", hook.errs)
		}
	}
	if !strings.HasPrefix(err.Error(), "bunid: users would get a map") {
		t.Errorf("the error reads %q", err)
	}
}

// A tracer records queries that were sent, along with their errors.
type tracer struct {
	queries []string
	errs    []error
}

func (*tracer) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (r *tracer) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	r.queries = append(r.queries, event.Query)
	r.errs = append(r.errs, event.Err)
}

// TestForgottenUse: with the check that docs/bun.md recommends, a program without Use must
// not store the key 0.
func TestForgottenUse(t *testing.T) {
	type guarded struct {
		ID   pk.ID `bun:",pk"`
		Name string
	}
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about)
		dbtest.Must(e.NewCreateTable().Model((*guarded)(nil)).ColumnExpr("CHECK (id > 0)").Exec(t.Context()))(t)
		if _, err := e.NewInsert().Model(&guarded{Name: "a"}).Exec(t.Context()); err == nil {
			t.Error("the key 0 was stored")
		}
		e.wantTable(t, "SELECT id FROM guardeds")
	})
}
