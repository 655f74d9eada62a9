package bunid_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func ignore(q query) query { return q.Ignore() }

func returning(list string, next func(query) query) func(query) query {
	return func(q query) query { return next(q).Returning(list) }
}

// each runs a test on every database, where the table has a single user named ada.
func each(t *testing.T, test func(t *testing.T, e *env, ctx context.Context, ada pk.ID)) {
	eachWith(t, []any{(*user)(nil)}, func(t *testing.T, e *env) {
		ada := user{Name: "ada"}
		e.insert(t, &ada)
		test(t, e, e.context(t), ada.ID)
	})
}

// TestConflictOfOne: a row that was skipped must have no key, and a row that was merged
// must have the key of the row in the table.
func TestConflictOfOne(t *testing.T) {
	each(t, func(t *testing.T, e *env, ctx context.Context, ada pk.ID) {
		if e.isMySQL() {
			return // package matrix shows that both are refused
		}
		for name, c := range map[string]struct {
			set  func(query) query
			want pk.ID
			only string
		}{
			"Ignore":                     {ignore, 0, ""},
			"Ignore, Returning":          {returning("*", ignore), 0, ""},
			"upsert":                     {upsert, ada, ""},
			"upsert, Returning the key":  {returning("name, id", upsert), ada, ""},
			"upsert, Returning by alias": {returning(`"user"."id"`, upsert), ada, "postgres"},
			"upsert, Returning all":      {returning("*", upsert), ada, ""},
			"upsert, Returning keys":     {returning("?PKs", upsert), ada, ""},
			"upsert, Returning columns":  {returning("?Columns", upsert), ada, ""},
			"upsert of all columns":      {func(q query) query { return q.On("CONFLICT (name) DO UPDATE") }, ada, "sqlite postgres"},
			"upsert by constraint": {func(q query) query {
				return q.On("CONFLICT ON CONSTRAINT users_name_key DO UPDATE")
			}, ada, "postgres"},
			"upsert of other rows only": {func(q query) query { return upsert(q).Where("EXCLUDED.age > 100") }, 0, "sqlite postgres"},
		} {
			t.Run(name, func(t *testing.T) {
				if c.only != "" && !strings.Contains(c.only, e.about.Dialect) {
					return
				}
				before := e.source.Calls()
				u := user{Name: "ada", Age: 7}
				dbtest.Must(c.set(e.NewInsert().Model(&u)).Exec(ctx))(t)
				if u.ID != c.want {
					t.Errorf("the row got the key %d, want %d", u.ID, c.want)
				}
				if calls := e.source.Calls() - before; calls != 1 {
					t.Errorf("keys were drawn %d times", calls)
				}
				age := 7
				if c.want == 0 {
					age = 0
				}
				e.wantTable(t, "SELECT id, age FROM users", line(ada, age))
				e.exec(t, "UPDATE users SET age = 0")
			})
		}
		t.Run("Scan", func(t *testing.T) {
			u := user{Name: "ada"}
			if err := e.NewInsert().Model(&u).Ignore().Scan(ctx); !errors.Is(err, sql.ErrNoRows) || u.ID != 0 {
				t.Errorf("got %v and the key %d", err, u.ID)
			}
			var id pk.ID
			if err := upsert(e.NewInsert().Model(&u)).Returning("id").Scan(ctx, &id); err != nil || id != ada {
				t.Errorf("got %v and the key %d, want %d", err, id, ada)
			}
		})
	})
}

// TestConflictOfSeveral: since bun assigns the rows returned by RETURNING to the first
// rows of a slice, RETURNING has to return complete rows.
func TestConflictOfSeveral(t *testing.T) {
	each(t, func(t *testing.T, e *env, ctx context.Context, ada pk.ID) {
		for name, set := range map[string]func(query) query{
			"Ignore": ignore, "upsert": upsert,
			"Ignore, Returning the key": returning("id", ignore), "upsert, Returning the key": returning("id", upsert),
		} {
			t.Run(name, func(t *testing.T) {
				before := e.source.Calls()
				problem := "row by row"
				if e.isMySQL() {
					problem = "does not return the keys"
				}
				us := []user{{Name: "a"}, {Name: "ada"}, {Name: "b"}}
				q := set(e.NewInsert().Model(&us))
				for range 2 {
					_, err := q.Exec(ctx)
					idtest.WantRowError(t, err, -1, problem)
				}
				if text := q.String(); !strings.Contains(text, "was refused") {
					t.Errorf("the query reads %s", text)
				}
				if us[0].ID+us[1].ID+us[2].ID != 0 || e.source.Calls() != before {
					t.Errorf("keys were drawn: %v", us)
				}
				e.wantTable(t, "SELECT id FROM users", line(ada))
			})
		}
		if e.isMySQL() {
			return
		}
		t.Run("Ignore, Returning all", func(t *testing.T) {
			a, out, b := &user{Name: "a"}, &user{Name: "ada"}, &user{Name: "b"}
			us := []*user{a, out, b}
			dbtest.Must(e.NewInsert().Model(&us).Ignore().Returning("*").Exec(ctx))(t)
			if len(us) != 2 || us[0].Name != "a" || us[1].Name != "b" || us[0].ID >= us[1].ID {
				t.Errorf("the slice holds %v", us)
			}
			e.wantTable(t, "SELECT id, name FROM users WHERE name <> 'ada' ORDER BY name", line(us[0].ID, "a"), line(us[1].ID, "b"))
			for _, u := range []*user{a, out, b} { // no matter what happened to them, they must not have a key that isn't stored
				if u.ID != 0 && u.ID != us[0].ID && u.ID != us[1].ID {
					t.Errorf("%s has the key %d", u.Name, u.ID)
				}
			}
			e.exec(t, "DELETE FROM users WHERE name <> 'ada'")
		})
	})
}

// TestConflictUnseen: RETURNING must include the key.
func TestConflictUnseen(t *testing.T) {
	each(t, func(t *testing.T, e *env, ctx context.Context, ada pk.ID) {
		if e.isMySQL() {
			return // MySQL refuses this for another reason
		}
		for _, list := range []string{"name", "NULL", "", "id AS age", "name, lower(id)"} {
			u := user{Name: "ada", Age: 7}
			_, err := upsert(e.NewInsert().Model(&u)).Returning(list).Exec(ctx)
			idtest.WantRowError(t, err, -1, "its key is not returned")
			if u.ID != 0 {
				t.Errorf("the row got the key %d", u.ID)
			}
		}
		e.wantTable(t, "SELECT id, age FROM users", line(ada, 0))
	})
}

// TestConflictOfGivenKeys: keys set by the caller must not change.
func TestConflictOfGivenKeys(t *testing.T) {
	each(t, func(t *testing.T, e *env, ctx context.Context, ada pk.ID) {
		before := e.source.Calls()
		us := []user{{ID: idA, Name: "ada"}, {ID: idB, Name: "b"}}
		dbtest.Must(e.NewInsert().Model(&us).Ignore().Exec(ctx))(t)
		if us[0].ID != idA || us[1].ID != idB || e.source.Calls() != before {
			t.Errorf("the rows are %v", us)
		}
		e.wantTable(t, "SELECT id, name FROM users ORDER BY name", line(ada, "ada"), line(idB, "b"))
	})
}

// TestConflictAgain: if a query runs again, whether it failed or succeeded the first
// time, it must send the keys in memory.
func TestConflictAgain(t *testing.T) {
	each(t, func(t *testing.T, e *env, ctx context.Context, ada pk.ID) {
		if e.isMySQL() {
			return
		}
		u := user{Name: "b", Age: 1}
		q := upsert(e.NewInsert().Model(&u))
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := q.Exec(cancelled); !errors.Is(err, context.Canceled) || u.ID != 0 {
			t.Fatalf("got %v and the key %d", err, u.ID)
		}
		var ids []pk.ID
		for range 3 {
			_ = q.String()
			dbtest.Must(q.Exec(ctx))(t)
			ids = append(ids, u.ID)
			e.wantTable(t, "SELECT id, name FROM users WHERE name <> 'ada'", line(u.ID, "b"))
		}
		if ids[0] == 0 || ids[0] != ids[1] || ids[0] != ids[2] {
			t.Errorf("the keys were %v", ids)
		}
		u = user{Name: "c"}
		dbtest.Must(q.Exec(ctx))(t)
		e.wantTable(t, "SELECT id FROM users WHERE name = 'c'", line(u.ID))

		us := []user{{Name: "d", Age: 1}, {ID: idA, Name: "e", Age: 2}, {Name: "f", Age: 3}}
		q = upsert(e.NewInsert().Model(&us)).Returning("*")
		for range 2 {
			dbtest.Must(q.Exec(ctx))(t)
			e.wantTable(t, "SELECT name, id FROM users WHERE name >= 'd' ORDER BY age", line("d", us[0].ID), line("e", idA), line("f", us[2].ID))
			e.exec(t, "DELETE FROM users WHERE name = 'd'") // it will be inserted again
		}
		us = []user{{ID: idB, Name: "g"}}
		dbtest.Must(q.Exec(ctx))(t)
		e.wantTable(t, "SELECT id FROM users WHERE name = 'g'", line(idB))
	})
}

// pathed has a column that is derived from its key.
type pathed struct {
	bun.BaseModel `bun:"table:paths"`
	sourced

	ID   pk.ID  `bun:",pk"`
	Name string `bun:",unique"`
	Age  int
	Path string
}

func (p *pathed) BeforeAppendModel(_ context.Context, query bun.Query) error {
	if _, ok := query.(*bun.InsertQuery); ok {
		p.Path = "/" + p.ID.String()
	}
	return nil
}

// TestConflictDerivedColumn: BeforeAppendModel must see the keys of an INSERT that may skip
// or merge rows.
func TestConflictDerivedColumn(t *testing.T) {
	eachWith(t, []any{(*pathed)(nil)}, func(t *testing.T, e *env) {
		if e.isMySQL() {
			return
		}
		ctx := e.context(t)
		ada := pathed{Name: "ada"}
		e.insert(t, &ada)
		for name, set := range map[string]func(query) query{"Ignore": returning("*", ignore), "upsert": returning("*", upsert)} {
			t.Run(name, func(t *testing.T) {
				one, some := pathed{Name: "one"}, []*pathed{{Name: "x"}, {Name: "ada"}, {Name: "y"}}
				for _, rows := range []any{&one, &some} {
					dbtest.Must(set(e.NewInsert().Model(rows)).Exec(ctx))(t)
				}
				e.wantTable(t, "SELECT name, path FROM paths ORDER BY name", line("ada", "/"+ada.ID.String()), line("one", "/"+one.ID.String()),
					line("x", "/"+some[0].ID.String()), line("y", "/"+some[len(some)-1].ID.String()))
				again := pathed{Name: "ada"}
				dbtest.Must(set(e.NewInsert().Model(&again)).Exec(ctx))(t)
				if again.ID != 0 && name == "Ignore" || again.ID != ada.ID && name == "upsert" {
					t.Errorf("the key is %d, and in the table %d", again.ID, ada.ID)
				}
				e.exec(t, "DELETE FROM paths WHERE name <> 'ada'")
			})
		}
	})
}

// TestRepeatedRow: a row that is in a call a second time must be refused by name.
func TestRepeatedRow(t *testing.T) {
	e := open(t, dbtest.SQLite(t), (*user)(nil))
	a, b := &user{Name: "a"}, &user{Name: "b"}
	for _, set := range []func(query) query{
		func(q query) query { return q },
		returning("*", ignore),
	} {
		us := []*user{a, {ID: idA, Name: "c"}, b, a}
		_, err := set(e.NewInsert().Model(&us)).Exec(e.context(t))
		idtest.WantRowError(t, err, 0, "is in the call a second time")
		if a.ID != 0 || b.ID != 0 {
			t.Errorf("the keys are %d and %d", a.ID, b.ID)
		}
	}
}

// TestReplace: a row that replaces another must get its own key.
func TestReplace(t *testing.T) {
	each(t, func(t *testing.T, e *env, ctx context.Context, ada pk.ID) {
		if e.about.Dialect == "postgres" {
			return // Postgres doesn't have REPLACE
		}
		u := user{Name: "ada", Age: 7}
		dbtest.Must(e.NewInsert().Model(&u).Replace().Exec(ctx))(t)
		if u.ID <= ada {
			t.Errorf("the row got the key %d", u.ID)
		}
		e.wantTable(t, "SELECT id, age FROM users", line(u.ID, 7))

		us := []user{{Name: "b"}, {Name: "b"}}
		_, err := e.NewInsert().Model(&us).Replace().Exec(ctx)
		idtest.WantRowError(t, err, -1, "may have rows that later rows")
		us = []user{{ID: idA, Name: "b"}, {ID: idB, Name: "c"}}
		dbtest.Must(e.NewInsert().Model(&us).Replace().Exec(ctx))(t)
		e.wantTable(t, "SELECT id FROM users WHERE name <> 'ada' ORDER BY name", line(idA), line(idB))
	})
}
