package gozero

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/stores/sqlx"
	"github.com/zeromicro/go-zero/rest/httpx"
	goctlmodel "github.com/zeromicro/go-zero/tools/goctl/model"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	. "github.com/snowkey-go/snowkey/internal/waytest"
	"github.com/snowkey-go/snowkey/test/recipes/gozero/cached"
	"github.com/snowkey-go/snowkey/test/recipes/gozero/mysql"
	"github.com/snowkey-go/snowkey/test/recipes/gozero/postgres"
)

var update = flag.Bool("update", false, "write the generated models")

func TestMain(m *testing.M) {
	logx.Disable()
	os.Exit(m.Run())
}

// goctl runs "goctl model" within this process, which takes only half as long to
// compile. Note that flags keep their values for the next run.
func goctl(t *testing.T, out string, cache bool, args ...string) {
	t.Helper()
	cmd := goctlmodel.Cmd.Command
	cmd.SetArgs(append(args, "--home", "template", "--dir", out, fmt.Sprintf("--cache=%t", cache)))
	dbtest.NoError(t, cmd.Execute())
}

// generate generates models into a folder of the repository, or compares them with the
// ones in there.
func generate(t *testing.T, dir string, cache bool, args ...string) {
	t.Helper()
	out := dir
	if !*update {
		out = filepath.Join(t.TempDir(), dir)
	}
	goctl(t, out, cache, args...)
	for _, name := range []string{"usersmodel.go", "usersmodel_gen.go", "vars.go"} {
		got := dbtest.Must(os.ReadFile(filepath.Join(out, name)))(t)
		if want, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("goctl generates another %s/%s than is in the repository: %v", dir, name, err)
		}
	}
}

func TestGenerated(t *testing.T) {
	generate(t, "mysql", false, "mysql", "ddl", "--src", "schema.sql")
	generate(t, "cached", true, "mysql", "ddl", "--src", "schema.sql")
}

// Keys must not be touched if they are numbered by the database, foreign keys, or text.
func TestLeftAlone(t *testing.T) {
	dir := t.TempDir()
	schema := filepath.Join(dir, "other.sql")
	dbtest.NoError(t, os.WriteFile(schema, []byte(`
CREATE TABLE counted (id BIGINT NOT NULL AUTO_INCREMENT, name VARCHAR(40) NOT NULL, PRIMARY KEY (id));
CREATE TABLE profiles (user_id BIGINT NOT NULL, name VARCHAR(40) NOT NULL, PRIMARY KEY (user_id));
CREATE TABLE files (id VARCHAR(36) NOT NULL, name VARCHAR(40) NOT NULL, PRIMARY KEY (id));
`), 0o644))
	goctl(t, dir, false, "mysql", "ddl", "--src", schema)
	files, err := filepath.Glob(filepath.Join(dir, "*_gen.go"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if code, err := os.ReadFile(name); err != nil || bytes.Contains(code, []byte("snowkey")) {
			t.Errorf("%s: %v\n%s", name, err, code)
		}
	}
}

// For Postgres, goctl needs a server from which to read the tables.
func TestGeneratedPostgres(t *testing.T) {
	db := dbtest.Postgres(t)
	createUsers(t, db.Connect(t))
	generate(t, "postgres", false, "pg", "datasource", "--url", db.DSN, "--table", "users")
}

func createUsers(t *testing.T, conn *sql.DB) {
	t.Helper()
	statement := strings.ReplaceAll(string(dbtest.Must(os.ReadFile("schema.sql"))(t)), "UNIQUE KEY users_name (", "UNIQUE (")
	dbtest.Must(conn.ExecContext(t.Context(), statement))(t)
}

// setPool sets the default pool of the process. Its clock stands still, so that ids
// differ by one.
func setPool(t *testing.T) {
	t.Helper()
	now := time.Now()
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(5), MaxAhead: idgen.NoLimit, NoSpread: true, Clock: func() time.Time { return now }}))(t)
	idgen.SetDefault(pool)
	t.Cleanup(func() {
		idgen.SetDefault(nil)
		pool.Close(context.Background())
	})
}

// User is the struct that is generated for all three models.
type User = mysql.Users

// A model is a generated model. All have the same methods, but each has a type of its own for
// the rows.
type model struct{ generated any }

// call calls a method, and returns its first result if there are two.
func (m model) call(ctx context.Context, method string, arg any) (result reflect.Value, err error) {
	f := reflect.ValueOf(m.generated).MethodByName(method)
	out := f.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(arg).Convert(f.Type().In(1))})
	err, _ = out[len(out)-1].Interface().(error)
	return out[0], err
}

func (m model) Insert(ctx context.Context, user *User) error {
	_, err := m.call(ctx, "Insert", user)
	return err
}

// find calls FindOne or FindOneByName.
func (m model) find(ctx context.Context, method string, arg any) (*User, error) {
	row, err := m.call(ctx, method, arg)
	if err != nil {
		return new(User), err
	}
	return row.Convert(reflect.TypeFor[*User]()).Interface().(*User), nil
}

// newModel returns the model for the given database.
func newModel(dialect string, conn sqlx.SqlConn) model {
	if dialect == "postgres" {
		return model{postgres.NewUsersModel(conn)}
	}
	return model{mysql.NewUsersModel(conn)}
}

func ways(dialect string, conn sqlx.SqlConn, cachedConn model) []Way {
	insert := func(m model) func(ctx context.Context, users []User) error {
		return func(ctx context.Context, users []User) error {
			for i := range users {
				if err := m.Insert(ctx, &users[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	values, onConflict := "(?, ?, ?)", " ON DUPLICATE KEY UPDATE n = VALUES(n)"
	if dialect == "postgres" {
		values, onConflict = "($1, $2, $3)", " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n"
	}
	exec := func(ctx context.Context, id int64, u User, suffix string) error {
		_, err := conn.ExecCtx(ctx, "INSERT INTO users (id, name, n) VALUES "+values+suffix, id, u.Name, u.N)
		return err
	}
	m := newModel(dialect, conn)
	return []Way{
		{Kind: One, Call: "`model.Insert(ctx, &user)`", Want: Agrees, Create: Users(insert(m))},
		{Kind: One, Call: "`Insert` of a model with a cache", Want: Agrees, Create: Users(insert(cachedConn))},
		{Kind: Slice, Call: "`sqlid.Fill(ctx, users)`, `sqlx.BulkInserter`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			if err := sqlid.Fill(ctx, users); err != nil {
				return err
			}
			bulk, err := sqlx.NewBulkInserter(conn, "INSERT INTO users (id, name, n) VALUES (?, ?, ?)")
			if err != nil {
				return err
			}
			for _, u := range users {
				if err := bulk.Insert(u.Id, u.Name, u.N); err != nil {
					return err
				}
			}
			bulk.Flush()
			return nil
		})},
		{Kind: Upsert, Call: "`sqlid.Fill(ctx, users)`, `conn.ExecCtx` with ON CONFLICT/DUPLICATE KEY, then `FindOneByName`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			if err := sqlid.Fill(ctx, users); err != nil {
				return err
			}
			for i, u := range users {
				if err := exec(ctx, u.Id, u, onConflict); err != nil {
					return err
				}
				found, err := m.find(ctx, "FindOneByName", u.Name)
				if err != nil {
					return err
				}
				users[i] = *found
			}
			return nil
		})},
		{Kind: Raw, Call: "`conn.ExecCtx` with an id from `pool.Next(ctx)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) (err error) {
			for i, u := range users {
				if users[i].Id, err = idgen.Default().Next(ctx); err == nil {
					err = exec(ctx, users[i].Id, u, "")
				}
				if err != nil {
					return err
				}
			}
			return nil
		})},
		{Kind: Raw, Call: "`conn.ExecCtx` with the id 0 and `CHECK (id > 0)`", Want: Refused, Create: Users(func(ctx context.Context, users []User) error {
			return exec(ctx, 0, users[0], "")
		})},
		{Kind: Preset, Call: "`model.Insert(ctx, &user)`", Want: Agrees, Create: Users(insert(m))},
		{Kind: Rollback, Call: "`conn.TransactCtx`, `NewUsersModel(sqlx.NewSqlConnFromSession(session)).Insert(ctx, &user)`", Want: Agrees, Create: Users(func(ctx context.Context, users []User) error {
			err := conn.TransactCtx(ctx, func(ctx context.Context, session sqlx.Session) error {
				if err := insert(newModel(dialect, sqlx.NewSqlConnFromSession(session)))(ctx, users); err != nil {
					return err
				}
				return sql.ErrTxDone
			})
			if err != sql.ErrTxDone {
				return fmt.Errorf("rolled back: %w", err)
			}
			kept := slices.Clone(users)
			if err := insert(m)(ctx, users); err != nil || !slices.Equal(users, kept) {
				return fmt.Errorf("keys were %v and are %v: %w", kept, users, err)
			}
			return nil
		})},
		{Kind: Failure, Call: "`model.Insert(ctx, &user)`", Want: Refused + ": `*sqlid.RowError`", Create: Users(func(ctx context.Context, users []User) error {
			pool := idgen.Default()
			idgen.SetDefault(nil)
			defer idgen.SetDefault(pool)
			return insert(m)(ctx, users)
		})},
	}
}

func newCached(t *testing.T, dialect string, conn sqlx.SqlConn) model {
	t.Helper()
	if dialect == "postgres" {
		return newModel(dialect, conn) // the calls of the cache are the same as for MySQL
	}
	addr := miniredis.RunT(t).Addr()
	return model{cached.NewUsersModel(conn, cache.CacheConf{{RedisConf: redis.RedisConf{Host: addr, Type: "node"}, Weight: 100}})}
}

// goctl has no models for SQLite.
func TestWays(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		setPool(t)
		raw := db.Connect(t)
		createUsers(t, raw)
		conn := sqlx.NewSqlConnFromDB(raw)
		Run(t, raw, ways(db.Dialect, conn, newCached(t, db.Dialect, conn)))
	})
}

// A model finds the rows whose keys differ by one, also in its cache.
func TestCache(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		setPool(t)
		ctx, raw := t.Context(), db.Connect(t)
		createUsers(t, raw)
		m := newCached(t, db.Dialect, sqlx.NewSqlConnFromDB(raw))
		a, b := &User{Name: "a"}, &User{Name: "b"}
		if err := errors.Join(m.Insert(ctx, a), m.Insert(ctx, b)); err != nil || b.Id != a.Id+1 {
			t.Fatal(a, b, err)
		}
		for range 2 { // first from the table, then from the cache
			for _, want := range []*User{a, b} {
				one, err1 := m.find(ctx, "FindOne", want.Id)
				named, err2 := m.find(ctx, "FindOneByName", want.Name)
				if err1 != nil || err2 != nil || *one != *want || *named != *want {
					t.Errorf("found %v and %v, want %v: %v, %v", one, named, want, err1, err2)
				}
			}
		}
	})
}

type UserReply struct {
	Id   int64  `json:"id,string"`
	Name string `json:"name"`
}

func TestJSON(t *testing.T) {
	want := UserReply{Id: 1<<60 + 1, Name: "Ada"}
	w := httptest.NewRecorder()
	httpx.OkJson(w, want)
	body := w.Body.String()
	if text := `{"id":"1152921504606846977","name":"Ada"}`; body != text {
		t.Errorf("JSON is %s, want %s", body, text)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	var got UserReply
	if err := httpx.Parse(r, &got); err != nil || got != want {
		t.Errorf("read %v, want %v: %v", got, want, err)
	}
}

func TestPage(t *testing.T) {
	CheckPage(t, "../README.md", "## go-zero", ways("", nil, model{}))
}
