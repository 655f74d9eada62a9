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

var errBroken = errors.New("no ids")

func newEngine(t *testing.T, about dbtest.DB) *xorm.Engine {
	t.Helper()
	driver, dsn := "sqlite", "file:x"
	switch about.Dialect {
	case "postgres":
		driver, dsn = "pgx", "postgres://u@localhost/x"
	case "mysql":
		driver, dsn = "mysql", "u@tcp(localhost)/x"
	}
	engine, err := xorm.NewEngineWithDB(driver, dsn, core.FromDB(about.Connect(t)))
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func xormUsers(rows []Row) []User {
	users := make([]User, len(rows))
	for i, r := range rows {
		users[i] = User{ID: pk.ID(r.ID), Name: r.Name, N: r.N}
	}
	return users
}

func xormRows(users []User) []Row {
	rows := make([]Row, len(users))
	for i, u := range users {
		rows[i] = Row{ID: u.ID.Int64(), Name: u.Name, N: u.N}
	}
	return rows
}

func xormWays(engine *xorm.Engine, dialect string, source *idtest.Source) []Way {
	keys := sqlid.New(source)
	insert := func(ctx context.Context, rows []Row) ([]Row, error) {
		users := xormUsers(rows)
		err := Insert(ctx, engine.NewSession(), keys, users)
		return xormRows(users), err
	}
	values, merge := "(?, ?, ?)", " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n"
	if dialect == "mysql" {
		merge = " ON DUPLICATE KEY UPDATE n = VALUES(n)"
	}
	return []Way{
		{Kind: One, Call: "`Insert(ctx, session, keys, &user)`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := xormUsers(rows)
			for i := range users {
				if err := Insert(ctx, engine.NewSession(), keys, &users[i]); err != nil {
					return nil, err
				}
			}
			return xormRows(users), nil
		}},
		{Kind: One, Call: "`engine.Insert(&user)` without `Fill`, and `CHECK (id > 0)`", Want: Refused, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			_, err := engine.Context(ctx).Insert(&xormUsers(rows)[0])
			return nil, err
		}},
		{Kind: Slice, Call: "`Insert(ctx, session, keys, users)`", Want: Agrees, Create: insert},
		{Kind: Slice, Call: "`Insert(ctx, session, keys, []*User{…})`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := xormUsers(rows)
			var pointers []*User
			for i := range users {
				pointers = append(pointers, &users[i])
			}
			err := Insert(ctx, engine.NewSession(), keys, pointers)
			return xormRows(users), err
		}},
		{Kind: Upsert, Call: "`keys.Fill(ctx, users)`, `Exec` with ON CONFLICT/DUPLICATE KEY, then `Get`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := xormUsers(rows)
			if err := keys.Fill(ctx, users); err != nil {
				return nil, err
			}
			for i, u := range users {
				if _, err := engine.Context(ctx).Exec("INSERT INTO users (id, name, n) VALUES "+values+merge, u.ID, u.Name, u.N); err != nil {
					return nil, err
				}
				users[i] = User{}
				if _, err := engine.Context(ctx).Where("name = ?", u.Name).Get(&users[i]); err != nil {
					return nil, err
				}
			}
			return xormRows(users), nil
		}},
		{Kind: Map, Call: "`session.Table(\"users\").Insert(map[string]any{…})` with an id from `pool.Next(ctx)`", Want: Agrees, Create: func(ctx context.Context, rows []Row) (_ []Row, err error) {
			for i, r := range rows {
				if rows[i].ID, err = source.Next(ctx); err != nil {
					return nil, err
				}
				if _, err = engine.Context(ctx).Table("users").Insert(map[string]any{"id": rows[i].ID, "name": r.Name, "n": r.N}); err != nil {
					return nil, err
				}
			}
			return rows, nil
		}},
		{Kind: Preset, Call: "`Insert(ctx, session, keys, users)`", Want: Agrees, Create: insert},
		{Kind: Rollback, Call: "`session.Begin`, `Insert(ctx, session, keys, users)`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := xormUsers(rows)
			s := engine.NewSession()
			defer s.Close()
			if err := s.Begin(); err != nil {
				return nil, err
			}
			if err := Insert(ctx, s, keys, users); err != nil {
				return nil, err
			}
			if err := s.Rollback(); err != nil {
				return nil, err
			}
			return insert(ctx, xormRows(users))
		}},
		{Kind: Failure, Call: "`Insert(ctx, session, keys, users)`", Want: Refused + ": `*sqlid.RowError`", Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			source.Err = errBroken
			defer func() { source.Err = nil }()
			return insert(ctx, rows)
		}},
	}
}

func TestXormWays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		conn := about.Connect(t)
		const schema = "CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0), name VARCHAR(40) NOT NULL UNIQUE, n BIGINT NOT NULL)"
		if _, err := conn.ExecContext(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		Run(t, conn, xormWays(newEngine(t, about), about.Dialect, new(idtest.Source)))
	})
}

func TestXormPage(t *testing.T) {
	CheckPage(t, "../../docs/recipes.md", "## xorm", xormWays(nil, "", nil))
}
