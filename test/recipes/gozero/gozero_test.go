package gozero

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
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
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
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
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
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
	if err := os.WriteFile(schema, []byte(`
CREATE TABLE counted (id BIGINT NOT NULL AUTO_INCREMENT, name VARCHAR(40) NOT NULL, PRIMARY KEY (id));
CREATE TABLE profiles (user_id BIGINT NOT NULL, name VARCHAR(40) NOT NULL, PRIMARY KEY (user_id));
CREATE TABLE files (id VARCHAR(36) NOT NULL, name VARCHAR(40) NOT NULL, PRIMARY KEY (id));
`), 0o644); err != nil {
		t.Fatal(err)
	}
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
	schema, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	statement := strings.ReplaceAll(string(schema), "UNIQUE KEY users_name (", "UNIQUE (")
	if _, err := conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// setPool sets the default pool of the process. Its clock stands still, so that ids
// differ by one.
func setPool(t *testing.T) {
	t.Helper()
	now := time.Now()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(5), MaxAhead: idgen.NoLimit, NoSpread: true, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	idgen.SetDefault(pool)
	t.Cleanup(func() {
		idgen.SetDefault(nil)
		pool.Close(context.Background())
	})
}

// Users is the struct that is generated for all three models.
type Users = mysql.Users

// A model is what the tests use of a generated model.
type model interface {
	Insert(ctx context.Context, data *Users) (sql.Result, error)
	FindOne(ctx context.Context, id int64) (*Users, error)
	FindOneByName(ctx context.Context, name string) (*Users, error)
	Update(ctx context.Context, data *Users) error
	Delete(ctx context.Context, id int64) error
}

type postgresModel struct{ postgres.UsersModel }

func (m postgresModel) Insert(ctx context.Context, data *Users) (sql.Result, error) {
	return m.UsersModel.Insert(ctx, (*postgres.Users)(data))
}

func (m postgresModel) FindOne(ctx context.Context, id int64) (*Users, error) {
	u, err := m.UsersModel.FindOne(ctx, id)
	return (*Users)(u), err
}

func (m postgresModel) FindOneByName(ctx context.Context, name string) (*Users, error) {
	u, err := m.UsersModel.FindOneByName(ctx, name)
	return (*Users)(u), err
}

func (m postgresModel) Update(ctx context.Context, data *Users) error {
	return m.UsersModel.Update(ctx, (*postgres.Users)(data))
}

type cachedModel struct{ cached.UsersModel }

func (m cachedModel) Insert(ctx context.Context, data *Users) (sql.Result, error) {
	return m.UsersModel.Insert(ctx, (*cached.Users)(data))
}

func (m cachedModel) FindOne(ctx context.Context, id int64) (*Users, error) {
	u, err := m.UsersModel.FindOne(ctx, id)
	return (*Users)(u), err
}

func (m cachedModel) FindOneByName(ctx context.Context, name string) (*Users, error) {
	u, err := m.UsersModel.FindOneByName(ctx, name)
	return (*Users)(u), err
}

func (m cachedModel) Update(ctx context.Context, data *Users) error {
	return m.UsersModel.Update(ctx, (*cached.Users)(data))
}

// newModel returns the model for the given database.
func newModel(dialect string, conn sqlx.SqlConn) model {
	if dialect == "postgres" {
		return postgresModel{postgres.NewUsersModel(conn)}
	}
	return mysql.NewUsersModel(conn)
}

func usersOf(rows []Row) []Users {
	users := make([]Users, len(rows))
	for i, r := range rows {
		users[i] = Users{Id: r.ID, Name: r.Name, N: r.N}
	}
	return users
}

func rowsOf(users []Users) []Row {
	rows := make([]Row, len(users))
	for i, u := range users {
		rows[i] = Row{ID: u.Id, Name: u.Name, N: u.N}
	}
	return rows
}

func ways(dialect string, conn sqlx.SqlConn, cachedConn model) []Way {
	insertAll := func(ctx context.Context, m model, users []Users) error {
		for i := range users {
			if _, err := m.Insert(ctx, &users[i]); err != nil {
				return err
			}
		}
		return nil
	}
	insert := func(m model) func(ctx context.Context, rows []Row) ([]Row, error) {
		return func(ctx context.Context, rows []Row) ([]Row, error) {
			users := usersOf(rows)
			err := insertAll(ctx, m, users)
			return rowsOf(users), err
		}
	}
	values, onConflict := "(?, ?, ?)", " ON DUPLICATE KEY UPDATE n = VALUES(n)"
	if dialect == "postgres" {
		values, onConflict = "($1, $2, $3)", " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n"
	}
	m := newModel(dialect, conn)
	return []Way{
		{Kind: One, Call: "`model.Insert(ctx, &user)`", Want: Agrees, Create: insert(m)},
		{Kind: One, Call: "`Insert` of a model with a cache", Want: Agrees, Create: insert(cachedConn)},
		{Kind: Slice, Call: "`sqlid.Fill(ctx, users)`, `sqlx.BulkInserter`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := usersOf(rows)
			if err := sqlid.Fill(ctx, users); err != nil {
				return nil, err
			}
			bulk, err := sqlx.NewBulkInserter(conn, "INSERT INTO users (id, name, n) VALUES (?, ?, ?)")
			if err != nil {
				return nil, err
			}
			for _, u := range users {
				if err := bulk.Insert(u.Id, u.Name, u.N); err != nil {
					return nil, err
				}
			}
			bulk.Flush()
			return rowsOf(users), nil
		}},
		{Kind: Upsert, Call: "`sqlid.Fill(ctx, users)`, `conn.ExecCtx` with ON CONFLICT/DUPLICATE KEY, then `FindOneByName`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := usersOf(rows)
			if err := sqlid.Fill(ctx, users); err != nil {
				return nil, err
			}
			for i, u := range users {
				if _, err := conn.ExecCtx(ctx, "INSERT INTO users (id, name, n) VALUES "+values+onConflict, u.Id, u.Name, u.N); err != nil {
					return nil, err
				}
				found, err := m.FindOneByName(ctx, u.Name)
				if err != nil {
					return nil, err
				}
				users[i] = *found
			}
			return rowsOf(users), nil
		}},
		{Kind: Raw, Call: "`conn.ExecCtx` with an id from `pool.Next(ctx)`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			for i, r := range rows {
				id, err := idgen.Default().Next(ctx)
				if err != nil {
					return nil, err
				}
				if _, err := conn.ExecCtx(ctx, "INSERT INTO users (id, name, n) VALUES "+values, id, r.Name, r.N); err != nil {
					return nil, err
				}
				rows[i].ID = id
			}
			return rows, nil
		}},
		{Kind: Raw, Call: "`conn.ExecCtx` with the id 0 and `CHECK (id > 0)`", Want: Refused, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			_, err := conn.ExecCtx(ctx, "INSERT INTO users (id, name, n) VALUES "+values, 0, rows[0].Name, rows[0].N)
			return nil, err
		}},
		{Kind: Preset, Call: "`model.Insert(ctx, &user)`", Want: Agrees, Create: insert(m)},
		{Kind: Rollback, Call: "`conn.TransactCtx`, `NewUsersModel(sqlx.NewSqlConnFromSession(session)).Insert(ctx, &user)`", Want: Agrees, Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			users := usersOf(rows)
			err := conn.TransactCtx(ctx, func(ctx context.Context, session sqlx.Session) error {
				if err := insertAll(ctx, newModel(dialect, sqlx.NewSqlConnFromSession(session)), users); err != nil {
					return err
				}
				return sql.ErrTxDone
			})
			if err != sql.ErrTxDone {
				return nil, fmt.Errorf("rolled back: %w", err)
			}
			kept := rowsOf(users)
			err = insertAll(ctx, m, users)
			if fmt.Sprint(kept) != fmt.Sprint(rowsOf(users)) {
				return nil, fmt.Errorf("keys were %v and are %v", kept, users)
			}
			return rowsOf(users), err
		}},
		{Kind: Failure, Call: "`model.Insert(ctx, &user)`", Want: Refused + ": `*sqlid.RowError`", Create: func(ctx context.Context, rows []Row) ([]Row, error) {
			pool := idgen.Default()
			idgen.SetDefault(nil)
			defer idgen.SetDefault(pool)
			return insert(m)(ctx, rows)
		}},
	}
}

// servers runs test on all databases that goctl supports.
func servers(t *testing.T, test func(t *testing.T, db dbtest.DB)) {
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" {
			t.Run(dialect, func(t *testing.T) { test(t, dbtest.Open(t, dialect)) })
		}
	}
}

func newCached(t *testing.T, dialect string, conn sqlx.SqlConn) model {
	t.Helper()
	if dialect == "postgres" {
		return newModel(dialect, conn) // the calls of the cache are the same as for MySQL
	}
	addr := miniredis.RunT(t).Addr()
	return cachedModel{cached.NewUsersModel(conn, cache.CacheConf{{RedisConf: redis.RedisConf{Host: addr, Type: "node"}, Weight: 100}})}
}

func TestWays(t *testing.T) {
	servers(t, func(t *testing.T, db dbtest.DB) {
		setPool(t)
		raw := db.Connect(t)
		createUsers(t, raw)
		conn := sqlx.NewSqlConnFromDB(raw)
		Run(t, raw, ways(db.Dialect, conn, newCached(t, db.Dialect, conn)))
	})
}

// It must be possible to find, change and delete rows whose keys differ by one, even if
// they are cached.
func TestRows(t *testing.T) {
	servers(t, func(t *testing.T, db dbtest.DB) {
		setPool(t)
		ctx, raw := t.Context(), db.Connect(t)
		createUsers(t, raw)
		conn := sqlx.NewSqlConnFromDB(raw)
		for _, m := range []model{newModel(db.Dialect, conn), newCached(t, db.Dialect, conn)} {
			a, b := &Users{Name: "a"}, &Users{Name: "b"}
			if _, err := m.Insert(ctx, a); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Insert(ctx, b); err != nil || b.Id != a.Id+1 {
				t.Fatal(a, b, err)
			}
			b.N = 7
			if err := m.Update(ctx, b); err != nil {
				t.Error(err)
			}
			for range 2 { // first from the table, then from the cache
				for _, want := range []*Users{a, b} {
					one, err1 := m.FindOne(ctx, want.Id)
					named, err2 := m.FindOneByName(ctx, want.Name)
					if err1 != nil || err2 != nil || *one != *want || *named != *want {
						t.Errorf("found %v and %v, want %v: %v, %v", one, named, want, err1, err2)
					}
				}
			}
			if err := m.Delete(ctx, a.Id); err != nil {
				t.Error(err)
			}
			if _, err := m.FindOne(ctx, a.Id); err != sqlx.ErrNotFound {
				t.Errorf("a deleted row: %v", err)
			}
			if got, err := m.FindOne(ctx, b.Id); err != nil || *got != *b {
				t.Errorf("found %v, want %v: %v", got, b, err)
			}
			if err := m.Delete(ctx, b.Id); err != nil {
				t.Error(err)
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
	var query struct {
		Id int64 `form:"id"`
	}
	r = httptest.NewRequest(http.MethodGet, "/?"+url.Values{"id": {"1152921504606846977"}}.Encode(), nil)
	if err := httpx.Parse(r, &query); err != nil || query.Id != want.Id {
		t.Errorf("read %d, want %d: %v", query.Id, want.Id, err)
	}
}

func TestPage(t *testing.T) {
	CheckPage(t, "../../../docs/recipes.md", "## go-zero", ways("", nil, nil))
}
