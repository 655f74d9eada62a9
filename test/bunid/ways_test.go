package bunid_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// A way is one of the ways to create the users "a" and "b". It's called with their
// keys, or zeros, and returns the keys that are in memory afterwards.
type way struct {
	name   string
	create func(ctx context.Context, e *env, a, b pk.ID) (memory [2]pk.ID, err error)
	about  about
}

// about describes a way to the test.
type about int

const (
	several   about = 1 << iota // the rows aren't created by a single INSERT
	conflict                    // rows may be left out or merged, which MySQL doesn't report
	replacing                   // REPLACE, which doesn't exist on Postgres
	with                        // INSERT after WITH, which MySQL doesn't allow
	values                      // NewValues, for which bun generates the wrong SQL on MariaDB
)

// works reports whether a way works on a database.
func (x about) works(db dbtest.DB) bool {
	mysql := db.Dialect == "mysql"
	return !(x&conflict != 0 && mysql && !db.MariaDB || x&replacing != 0 && db.Dialect == "postgres" ||
		x&with != 0 && mysql || x&values != 0 && db.MariaDB)
}

// Package matrix tries the common ways with all types of keys. These are the others.
var ways = []way{
	list("slice of interfaces", func(q query, us []user) query { return q.Model(&[]any{&us[0], &us[1]}) }, 0),
	{"embedded base", func(ctx context.Context, e *env, a, b pk.ID) ([2]pk.ID, error) {
		us := []derived{{base: base{ID: a}, Name: "a"}, {base: base{ID: b}, Name: "b"}}
		_, err := e.NewInsert().Model(&us).Exec(ctx)
		return [2]pk.ID{us[0].ID, us[1].ID}, err
	}, 0},
	{"base embedded by pointer", func(ctx context.Context, e *env, a, b pk.ID) ([2]pk.ID, error) {
		us := []pointing{{Name: "a"}, {Name: "b"}}
		if a != 0 {
			us[0].Numbers = &Numbers{ID: a}
		}
		if b != 0 {
			us[1].Numbers = &Numbers{ID: b}
		}
		_, err := e.NewInsert().Model(&us).Exec(ctx)
		if err != nil {
			return [2]pk.ID{}, err
		}
		return [2]pk.ID{us[0].ID, us[1].ID}, nil
	}, 0},
	{"key in an embed with a prefix", func(ctx context.Context, e *env, a, b pk.ID) ([2]pk.ID, error) {
		us := []*prefixed{{Key: part{D: a}, Name: "a"}, {Key: part{D: b}, Name: "b"}}
		_, err := e.NewInsert().Model(&us).Exec(ctx)
		return [2]pk.ID{us[0].Key.D, us[1].Key.D}, err
	}, 0},
	{"model with hooks of its own", func(ctx context.Context, e *env, a, b pk.ID) ([2]pk.ID, error) {
		us := []hooked{{ID: pk.Of[hooked](a), Name: "A"}, {ID: pk.Of[hooked](b), Name: "B"}}
		_, err := e.NewInsert().Model(&us).Exec(ctx)
		return [2]pk.ID{us[0].ID.ID(), us[1].ID.ID()}, err
	}, 0},

	list("Column", func(q query, us []user) query { return q.Model(&us).Column("id", "name") }, 0),
	list("ExcludeColumn", func(q query, us []user) query { return q.Model(&us).ExcludeColumn("age") }, 0),
	list("Value", func(q query, us []user) query { return q.Model(&us).Value("age", "? + 1", 41) }, 0),
	list("ModelTableExpr", func(q query, us []user) query { return q.Model(&us).ModelTableExpr("users") }, 0),
	list("Comment", func(q query, us []user) query {
		return q.Model(&us).Comment("INSERT IGNORE INTO users SELECT * ON RETURNING 'it")
	}, 0),
	list("Apply", func(q query, us []user) query { return q.Apply(func(q query) query { return q.Model(&us) }) }, 0),
	list("Returning of the key", func(q query, us []user) query { return q.Model(&us).Returning("id") }, 0),
	list("Returning of everything", func(q query, us []user) query { return q.Model(&us).Returning("*") }, 0),
	list("Returning of nothing", func(q query, us []user) query { return q.Model(&us).Returning("NULL") }, 0),
	list("Returning of something else", func(q query, us []user) query { return q.Model(&us).Returning("name") }, 0),

	about(0).way("connection", func(ctx context.Context, e *env, us []user) error {
		conn, err := e.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return exec(conn.NewInsert().Model(&us).Exec(ctx))
	}),
	about(0).way("Conn of another", func(ctx context.Context, e *env, us []user) error {
		return exec(e.NewInsert().Conn(e.conn).Model(&us).Exec(ctx))
	}),
	about(0).way("query written twice", func(ctx context.Context, e *env, us []user) error {
		q := e.NewInsert().Model(&us)
		_ = q.String()
		return exec(q.Exec(ctx))
	}),
	(values | with).way("NewValues", func(ctx context.Context, e *env, us []user) error {
		if err := bunid.FillRows(ctx, e, &us, e.source); err != nil {
			return err
		}
		return exec(e.NewInsert().With("data", e.NewValues(&us)).Model((*user)(nil)).Table("data").Exec(bunid.Given(ctx)))
	}),

	values.way("NewValues in SQL by hand", func(ctx context.Context, e *env, us []user) error {
		if err := bunid.FillRows(ctx, e, &us, e.source); err != nil {
			return err
		}
		return exec(e.NewRaw("INSERT INTO users (?) ?", bun.Safe("id, name, age"), e.NewValues(&us)).Exec(bunid.Given(ctx)))
	}),

	several.one("upsert with Returning", conflict, func(q query) query { return upsert(q).Returning("?PKs, name") }),
	list("Ignore of a slice", func(q query, us []user) query { return q.Model(&us).Ignore().Returning("*") }, conflict),
	list("upsert of a slice", func(q query, us []user) query { return upsert(q.Model(&us)).Returning("*") }, conflict),
	several.one("Replace", replacing, func(q query) query { return q.Replace() }),
}

// list is a way to create a slice of users with one INSERT.
func list(name string, set func(q query, us []user) query, about about) way {
	return about.way(name, func(ctx context.Context, e *env, us []user) error { return exec(set(e.NewInsert(), us).Exec(ctx)) })
}

// one is a way to create each user from a single struct.
func (x about) one(name string, more about, set func(q query) query) way {
	return (x | more).way(name, func(ctx context.Context, e *env, us []user) error {
		for i := range us {
			if _, err := set(e.NewInsert().Model(&us[i])).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (x about) way(name string, create func(ctx context.Context, e *env, us []user) error) way {
	return way{name, func(ctx context.Context, e *env, a, b pk.ID) ([2]pk.ID, error) {
		us := []user{{ID: a, Name: "a"}, {ID: b, Name: "b"}}
		err := create(ctx, e, us)
		return [2]pk.ID{us[0].ID, us[1].ID}, err
	}, x}
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
		checked       int
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
	h.checked++
	h.Name = string(h.Name[0] | 0x20) // convert to lower case
	return nil
}

// TestWays: whichever way is used, memory must equal the table.
func TestWays(t *testing.T) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) {
		e := open(t, db, (*user)(nil))
		e.use(t, (*derived)(nil), (*pointing)(nil), (*prefixed)(nil), (*hooked)(nil))
		for _, w := range ways {
			if !w.about.works(db) {
				continue
			}
			for _, given := range rowtest.Given {
				t.Run(fmt.Sprintf("%s/%d", w.name, given), func(t *testing.T) {
					rowtest.CheckWay(t, e.conn, e.source, given, w.about&several == 0, func(a, b pk.ID) ([2]pk.ID, error) {
						return w.create(e.context(t), e, a, b)
					})
				})
			}
		}
	})
}
