package goframe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	_ "github.com/gogf/gf/contrib/drivers/mysql/v2"
	_ "github.com/gogf/gf/contrib/drivers/pgsql/v2"
	_ "github.com/gogf/gf/contrib/drivers/sqlite/v2"

	driver "github.com/go-sql-driver/mysql"
	"github.com/gogf/gf/v2/database/gdb"
	"github.com/gogf/gf/v2/frame/g"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	. "github.com/snowkey-go/snowkey/internal/waytest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// User is an entity.
type User struct {
	Id   pk.ID  `json:"id"   orm:"id"`
	Name string `json:"name" orm:"name"`
	N    int64  `json:"n"    orm:"n"`
}

func open(t *testing.T, about dbtest.DB) gdb.DB {
	t.Helper()
	node := gdb.ConfigNode{Type: about.Dialect, Name: strings.TrimPrefix(about.DSN, "file:")}
	switch about.Dialect {
	case "sqlite":
		node.Name, _, _ = strings.Cut(node.Name, "?")
	case "mysql":
		cfg := dbtest.Must(driver.ParseDSN(about.DSN))(t)
		host, port, _ := strings.Cut(cfg.Addr, ":")
		node.User, node.Pass, node.Host, node.Port, node.Name = cfg.User, cfg.Passwd, host, port, cfg.DBName
	case "postgres":
		u := dbtest.Must(url.Parse(about.DSN))(t)
		node.Type, node.Name = "pgsql", strings.TrimPrefix(u.Path, "/")
		node.User, node.Host, node.Port = u.User.Username(), u.Hostname(), u.Port()
		node.Pass, _ = u.User.Password()
	}
	db := dbtest.Must(gdb.New(node))(t)
	t.Cleanup(func() { db.Close(context.Background()) })
	const schema = "CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0), name VARCHAR(40) NOT NULL UNIQUE, n BIGINT NOT NULL)"
	dbtest.Must(db.Exec(t.Context(), schema))(t)
	return db
}

func ways(db gdb.DB, source *idtest.Source) []Way {
	keys := Keys(source)
	model := func(ctx context.Context) *gdb.Model { return db.Model("users").Ctx(ctx).Hook(keys) }
	// each calls write for each row, whereas data calls it once for all rows.
	each := func(write func(ctx context.Context, r Row) error) func(ctx context.Context, rows []Row) ([]Row, error) {
		return func(ctx context.Context, rows []Row) ([]Row, error) {
			for _, r := range rows {
				if err := write(ctx, r); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}
	}
	all := func(write func(ctx context.Context, rows []Row) (sql.Result, error)) func(ctx context.Context, rows []Row) ([]Row, error) {
		return func(ctx context.Context, rows []Row) ([]Row, error) {
			_, err := write(ctx, rows)
			return nil, err
		}
	}
	maps := func(rows []Row) g.List {
		var list g.List
		for _, r := range rows {
			list = append(list, g.Map{"name": r.Name, "n": r.N})
		}
		return list
	}
	users := func(ctx context.Context, rows []Row) (sql.Result, error) { return model(ctx).Insert(Of[User](rows)) }
	return []Way{
		{Kind: One, Call: "`model.Insert(user)`, `Insert(&user)`", Want: Stored, Create: each(func(ctx context.Context, r Row) error {
			user := Of[User]([]Row{r})[0]
			if r.Name == "b" {
				_, err := model(ctx).Insert(user)
				return err
			}
			_, err := model(ctx).Insert(&user)
			return err
		})},
		{Kind: One, Call: "`model.Insert(do.User{…})`", Want: Stored, Create: each(func(ctx context.Context, r Row) error {
			_, err := model(ctx).Insert(DoUser{Name: r.Name, N: r.N})
			return err
		})},
		{Kind: One, Call: "`model.Data(do.User{…}).InsertAndGetId()`", Want: Agrees, Create: func(ctx context.Context, rows []Row) (_ []Row, err error) {
			for i, r := range rows {
				if rows[i].ID, err = CreateUser(ctx, db, keys, DoUser{Name: r.Name, N: r.N}); err != nil {
					return nil, err
				}
			}
			return rows, nil
		}},
		{Kind: One, Call: "`sqlid.Fill(ctx, &user)`, `model.Insert(user)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			for i := range users {
				if err := sqlid.New(source).Fill(ctx, &users[i]); err != nil {
					return err
				}
				if _, err := model(ctx).Insert(users[i]); err != nil {
					return err
				}
			}
			return nil
		})},
		{Kind: Slice, Call: "`model.Insert(users)`", Want: Stored, Create: all(users)},
		{Kind: Slice, Call: "`model.Batch(2).Insert([]do.User{…})`", Want: Stored, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			var dos []DoUser
			for _, r := range rows {
				dos = append(dos, DoUser{Name: r.Name, N: r.N})
			}
			return model(ctx).Batch(2).Insert(dos)
		})},
		{Kind: Slice, Call: "`sqlid.Fill(ctx, users)`, `model.Insert(users)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			if err := sqlid.New(source).Fill(ctx, users); err != nil {
				return err
			}
			_, err := model(ctx).Insert(users)
			return err
		})},
		{Kind: Upsert, Call: "`model.OnConflict(\"name\").OnDuplicateEx(\"id\").Save(users)`", Want: Stored, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			return model(ctx).OnConflict("name").OnDuplicateEx("id").Save(Of[User](rows))
		})},
		{Kind: Upsert, Call: "`model.OnConflict(\"name\").Save(users)`", Want: Refused, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			return model(ctx).OnConflict("name").Save(Of[User](rows))
		})},
		{Kind: Upsert, Call: "`model.Replace(users)`", Want: Refused, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			return model(ctx).Replace(Of[User](rows))
		})},
		{Kind: Ignore, Call: "`model.InsertIgnore(users)`", Want: Stored, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			return model(ctx).InsertIgnore(Of[User](rows))
		})},
		{Kind: Map, Call: "`model.Insert(g.Map{…})`", Want: Stored, Create: each(func(ctx context.Context, r Row) error {
			_, err := model(ctx).Insert(maps([]Row{r})[0])
			return err
		})},
		{Kind: Map, Call: "`model.Insert(g.List{…})`", Want: Stored, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			return model(ctx).Insert(maps(rows))
		})},
		{Kind: Map, Call: "`db.Insert(ctx, \"users\", g.Map{…})`, which calls no hook", Want: Refused, Create: all(func(ctx context.Context, rows []Row) (sql.Result, error) {
			return db.Insert(ctx, "users", maps(rows)[0])
		})},
		{Kind: Raw, Call: "`db.Exec` with an id from `pool.Next(ctx)`", Want: Agrees, Create: func(ctx context.Context, rows []Row) (_ []Row, err error) {
			for i, r := range rows {
				if rows[i].ID, err = source.Next(ctx); err != nil {
					return nil, err
				}
				if _, err = db.Exec(ctx, "INSERT INTO users (id, name, n) VALUES (?, ?, ?)", rows[i].ID, r.Name, r.N); err != nil {
					return nil, err
				}
			}
			return rows, nil
		}},
		{Kind: Preset, Call: "`model.Insert(users)`", Want: Stored, Create: all(users)},
		{Kind: Rollback, Call: "`db.Transaction`, `sqlid.Fill(ctx, users)`, `tx.Model(\"users\").Hook(keys).Insert(users)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			insert := func(again bool) error {
				return db.Transaction(ctx, func(ctx context.Context, tx gdb.TX) error {
					if err := sqlid.New(source).Fill(ctx, users); err != nil {
						return err
					}
					if _, err := tx.Model("users").Hook(keys).Insert(users); err != nil || again {
						return err
					}
					return sql.ErrTxDone
				})
			}
			if err := insert(false); !errors.Is(err, sql.ErrTxDone) {
				return fmt.Errorf("rolled back: %w", err)
			}
			kept := slices.Clone(users)
			if err := insert(true); err != nil || !slices.Equal(users, kept) {
				return fmt.Errorf("keys were %v and are %v: %w", kept, users, err)
			}
			return nil
		})},
		{Kind: Failure, Call: "`model.Insert(users)`", Want: Refused, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			source.Err = errors.New("no ids")
			defer func() { source.Err = nil }()
			_, err := users(ctx, rows)
			if !errors.Is(err, source.Err) {
				return nil, nil
			}
			return nil, err
		}},
	}
}

func TestWays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		Run(t, about.Connect(t), ways(open(t, about), new(idtest.Source)))
	})
}

func TestPage(t *testing.T) {
	CheckPage(t, "../README.md", "## GoFrame", ways(nil, nil))
}
