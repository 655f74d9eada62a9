package recipes

import (
	"context"
	"errors"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	"xorm.io/xorm"
	"xorm.io/xorm/core"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	. "github.com/snowkey-go/snowkey/internal/waytest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	ID   pk.ID `xorm:"pk 'id'"`
	Name string
	N    int64
}

// Insert fills the keys of a row, or of a slice, and inserts.
func Insert(ctx context.Context, s *xorm.Session, keys *sqlid.Filler, rows any) error {
	if err := keys.Fill(ctx, rows); err != nil {
		return err
	}
	_, err := s.Context(ctx).Insert(rows)
	return err
}

func (User) TableName() string { return "users" }

func newEngine(t *testing.T, about dbtest.DB) *xorm.Engine {
	t.Helper()
	driver, dsn := "sqlite", "file:x"
	switch about.Dialect {
	case "postgres":
		driver, dsn = "pgx", "postgres://u@localhost/x"
	case "mysql":
		driver, dsn = "mysql", "u@tcp(localhost)/x"
	}
	return dbtest.Must(xorm.NewEngineWithDB(driver, dsn, core.FromDB(about.Connect(t))))(t)
}

func xormWays(engine *xorm.Engine, dialect string, source *idtest.Source) []Way {
	keys := sqlid.New(source)
	insert := func(ctx context.Context, users []User) error { return Insert(ctx, engine.NewSession(), keys, users) }
	merge := " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n"
	if dialect == "mysql" {
		merge = " ON DUPLICATE KEY UPDATE n = VALUES(n)"
	}
	return []Way{
		{Kind: One, Call: "`Insert(ctx, session, keys, &user)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			for i := range users {
				if err := Insert(ctx, engine.NewSession(), keys, &users[i]); err != nil {
					return err
				}
			}
			return nil
		})},
		{Kind: One, Call: "`engine.Insert(&user)` without `Fill`, and `CHECK (id > 0)`", Want: Refused, Create: Users(func(ctx context.Context, users []User) error {
			_, err := engine.Context(ctx).Insert(&users[0])
			return err
		})},
		{Kind: Slice, Call: "`Insert(ctx, session, keys, users)`", Want: Agrees, Create: Users(insert)},
		{Kind: Slice, Call: "`Insert(ctx, session, keys, []*User{…})`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			var pointers []*User
			for i := range users {
				pointers = append(pointers, &users[i])
			}
			return Insert(ctx, engine.NewSession(), keys, pointers)
		})},
		{Kind: Upsert, Call: "`keys.Fill(ctx, users)`, `Exec` with ON CONFLICT/DUPLICATE KEY, then `Get`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			if err := keys.Fill(ctx, users); err != nil {
				return err
			}
			for i, u := range users {
				if _, err := engine.Context(ctx).Exec("INSERT INTO users (id, name, n) VALUES (?, ?, ?)"+merge, u.ID, u.Name, u.N); err != nil {
					return err
				}
				users[i] = User{}
				if _, err := engine.Context(ctx).Where("name = ?", u.Name).Get(&users[i]); err != nil {
					return err
				}
			}
			return nil
		})},
		{Kind: Map, Call: "`session.Table(\"users\").Insert(map[string]any{…})` with an id from `pool.Next(ctx)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			for i, u := range users {
				id, err := source.Next(ctx)
				if err != nil {
					return err
				}
				users[i].ID = pk.ID(id)
				if _, err = engine.Context(ctx).Table("users").Insert(map[string]any{"id": id, "name": u.Name, "n": u.N}); err != nil {
					return err
				}
			}
			return nil
		})},
		{Kind: Preset, Call: "`Insert(ctx, session, keys, users)`", Want: Agrees, Create: Users(insert)},
		{Kind: Rollback, Call: "`session.Begin`, `Insert(ctx, session, keys, users)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			s := engine.NewSession()
			defer s.Close()
			if err := s.Begin(); err != nil {
				return err
			}
			if err := errors.Join(Insert(ctx, s, keys, users), s.Rollback()); err != nil {
				return err
			}
			return insert(ctx, users)
		})},
		{Kind: Failure, Call: "`Insert(ctx, session, keys, users)`", Want: Refused + ": `*sqlid.RowError`", Create: Users(func(ctx context.Context, users []User) error {
			source.Err = errors.New("no ids")
			defer func() { source.Err = nil }()
			return insert(ctx, users)
		})},
	}
}

func TestXormWays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		conn := about.Connect(t)
		const schema = "CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0), name VARCHAR(40) NOT NULL UNIQUE, n BIGINT NOT NULL)"
		dbtest.Must(conn.ExecContext(t.Context(), schema))(t)
		Run(t, conn, xormWays(newEngine(t, about), about.Dialect, new(idtest.Source)))
	})
}

func TestXormPage(t *testing.T) {
	CheckPage(t, "README.md", "## xorm", xormWays(nil, "", nil))
}

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
