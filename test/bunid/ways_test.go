package bunid_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// A way is one of the ways to create the users "a" and "b" with one INSERT. It's called with
// their keys, or zeros, and returns the keys that are in memory afterwards.
type way struct {
	name   string
	create func(ctx context.Context, e *env, a, b pk.ID) (memory [2]pk.ID, err error)
	not    string // a database without this way: mysql is both MySQL and MariaDB
}

// Package matrix tries the common ways, also those for conflicts, with all types of keys. These
// are the others.
var ways = []way{
	shape("embedded base", func(id pk.ID, name string) derived {
		return derived{base: base{ID: id}, Name: name}
	}, func(u derived) pk.ID { return u.ID }),
	shape("base embedded by pointer", func(id pk.ID, name string) pointing {
		if id == 0 {
			return pointing{Name: name}
		}
		return pointing{Name: name, Numbers: &Numbers{ID: id}}
	}, func(u pointing) pk.ID { return u.ID }),
	shape("key in an embed with a prefix", func(id pk.ID, name string) prefixed {
		return prefixed{Key: part{D: id}, Name: name}
	}, func(u prefixed) pk.ID { return u.Key.D }),
	shape("model with hooks of its own", func(id pk.ID, name string) hooked {
		return hooked{ID: pk.Of[hooked](id), Name: strings.ToUpper(name)}
	}, func(u hooked) pk.ID { return u.ID.ID() }),
	list("slice of interfaces", func(q query, us []user) query { return q.Model(&[]any{&us[0], &us[1]}) }),
	list("Column", func(q query, us []user) query { return q.Model(&us).Column("id", "name") }),
	list("ExcludeColumn", func(q query, us []user) query { return q.Model(&us).ExcludeColumn("age") }),
	list("Value", func(q query, us []user) query { return q.Model(&us).Value("age", "? + 1", 41) }),
	list("ModelTableExpr", func(q query, us []user) query { return q.Model(&us).ModelTableExpr("users") }),
	list("Comment", func(q query, us []user) query {
		return q.Model(&us).Comment("INSERT IGNORE INTO users SELECT * ON RETURNING 'it")
	}),
	list("Apply", func(q query, us []user) query { return q.Apply(func(q query) query { return q.Model(&us) }) }),
	list("Returning of the key", func(q query, us []user) query { return q.Model(&us).Returning("id") }),
	list("Returning of everything", func(q query, us []user) query { return q.Model(&us).Returning("*") }),
	// See https://github.com/uptrace/bun/issues/512.
	list("Returning of nothing", func(q query, us []user) query { return q.Model(&us).Returning("NULL") }),
	list("Returning of something else", func(q query, us []user) query { return q.Model(&us).Returning("name") }),

	users("connection", "", func(ctx context.Context, e *env, us []user) error {
		conn, err := e.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return exec(conn.NewInsert().Model(&us).Exec(ctx))
	}),
	users("Conn of another", "", func(ctx context.Context, e *env, us []user) error {
		return exec(e.NewInsert().Conn(e.conn).Model(&us).Exec(ctx))
	}),
	users("query written twice", "", func(ctx context.Context, e *env, us []user) error {
		q := e.NewInsert().Model(&us)
		_ = q.String()
		return exec(q.Exec(ctx))
	}),
	users("NewValues", "mysql", func(ctx context.Context, e *env, us []user) error { // which has no INSERT after WITH
		if err := bunid.FillRows(ctx, e, &us, e.source); err != nil {
			return err
		}
		return exec(e.NewInsert().With("data", e.NewValues(&us)).Model((*user)(nil)).Table("data").Exec(bunid.Given(ctx)))
	}),
	users("NewValues in SQL by hand", "mariadb", func(ctx context.Context, e *env, us []user) error { // for which bun writes wrong SQL
		if err := bunid.FillRows(ctx, e, &us, e.source); err != nil {
			return err
		}
		return exec(e.NewRaw("INSERT INTO users (?) ?", bun.Safe("id, name, age"), e.NewValues(&us)).Exec(bunid.Given(ctx)))
	}),
}

// shape is a way to create users with a model of another shape.
func shape[M any](name string, of func(id pk.ID, name string) M, keyOf func(M) pk.ID) way {
	return way{name, func(ctx context.Context, e *env, a, b pk.ID) (memory [2]pk.ID, err error) {
		us := []M{of(a, "a"), of(b, "b")}
		if _, err = e.NewInsert().Model(&us).Exec(ctx); err == nil {
			memory = [2]pk.ID{keyOf(us[0]), keyOf(us[1])}
		}
		return memory, err
	}, ""}
}

// list is a way to create users with one INSERT.
func list(name string, set func(q query, us []user) query) way {
	return users(name, "", func(ctx context.Context, e *env, us []user) error { return exec(set(e.NewInsert(), us).Exec(ctx)) })
}

func users(name, not string, create func(ctx context.Context, e *env, us []user) error) way {
	return way{name, func(ctx context.Context, e *env, a, b pk.ID) ([2]pk.ID, error) {
		us := []user{{ID: a, Name: "a"}, {ID: b, Name: "b"}}
		err := create(ctx, e, us)
		return [2]pk.ID{us[0].ID, us[1].ID}, err
	}, not}
}

// upsert merges rows that have the same name.
func upsert(q query) query {
	if q.DB().Dialect().Name().String() == "mysql" {
		return q.On("DUPLICATE KEY UPDATE").Set("age = VALUES(age)")
	}
	return q.On("CONFLICT (name) DO UPDATE").Set("age = EXCLUDED.age")
}

// These are models of the same table that have other shapes.
type (
	base struct {
		sourced
		ID pk.ID `bun:",pk"`
	}
	derived struct {
		bun.BaseModel `bun:"table:users"`
		base
		Name string
	}

	Numbers struct {
		ID pk.ID `bun:",pk"`
	}
	pointing struct {
		bun.BaseModel `bun:"table:users"`
		sourced
		*Numbers
		Name string
	}

	part struct {
		D pk.ID `bun:",pk"`
	}
	prefixed struct {
		bun.BaseModel `bun:"table:users"`
		sourced
		Key  part `bun:"embed:i"`
		Name string
	}

	hooked struct {
		bun.BaseModel `bun:"table:users"`
		ID            pk.Of[hooked] `bun:",pk"`
		Name          string
	}
)

// BeforeInsert has to call Fill, because it shadows the embedded method.
func (*hooked) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	return (*sourced)(nil).BeforeInsert(ctx, q)
}

// BeforeAppendModel checks that the key is already set.
func (h *hooked) BeforeAppendModel(_ context.Context, q bun.Query) error {
	if _, ok := q.(*bun.InsertQuery); ok && h.ID == 0 {
		return fmt.Errorf("%s has no key yet", h.Name)
	}
	h.Name = strings.ToLower(h.Name)
	return nil
}

// TestWays: whichever way is used, memory must equal the table.
func TestWays(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		e := open(t, db, (*user)(nil))
		e.use(t, (*derived)(nil), (*pointing)(nil), (*prefixed)(nil), (*hooked)(nil))
		for _, w := range ways {
			if w.not == db.Dialect || w.not == "mariadb" && db.MariaDB {
				continue
			}
			for _, given := range rowtest.Given {
				t.Run(fmt.Sprintf("%s/%d", w.name, given), func(t *testing.T) {
					rowtest.CheckWay(t, e.conn, e.source, given, true, func(a, b pk.ID) ([2]pk.ID, error) {
						return w.create(e.context(t), e, a, b)
					})
				})
			}
		}
	})
}
