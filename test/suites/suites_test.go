//go:build suites

// Package suites runs the test suites of GORM, ent and bun, once with Snowkey's hooks and
// once without, and checks that all tests have the same results. The models in these
// suites don't use Snowkey's keys, so the hooks must not touch them.
//
//	make test-suites GORM_SRC=checkout ENT_SRC=checkout BUN_SRC=checkout
package suites

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A suite is a copy of a checkout, with hooks that can be enabled by the environment.
type suite struct{ root, dir string }

// newSuite copies the checkout named by the variable, and makes the module in the
// folder use the modules in the work tree.
func newSuite(t *testing.T, variable, folder string, modules ...string) suite {
	t.Helper()
	source := os.Getenv(variable)
	if source == "" {
		t.Fatalf("%s is not set; set it to a checkout", variable)
	}
	root := t.TempDir()
	dbtest.NoError(t, os.CopyFS(root, os.DirFS(source)))
	s := suite{root, filepath.Join(root, folder)}
	for _, module := range append(modules, "") {
		tree := dbtest.Must(filepath.Abs(filepath.Join("../..", module)))(t)
		path := strings.TrimSuffix("github.com/snowkey-go/snowkey/"+module, "/")
		s.goRun(t, "mod", "edit", "-require", path+"@v0.1.0", "-replace", path+"="+tree)
	}
	return s
}

func (s suite) goRun(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = s.dir, s.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (s suite) env(more ...string) []string {
	return append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), more...)
}

// add adds a file from testdata.
func (s suite) add(t *testing.T, from, to string) {
	t.Helper()
	text := dbtest.Must(os.ReadFile(filepath.Join("testdata", from)))(t)
	to = filepath.Join(s.dir, to)
	dbtest.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	dbtest.NoError(t, os.WriteFile(to, text, 0o644))
}

// replace replaces a text, which must occur n times in the file.
func replace(t *testing.T, name string, n int, old, text string) {
	t.Helper()
	file := dbtest.Must(os.ReadFile(name))(t)
	if got := bytes.Count(file, []byte(old)); got != n {
		t.Fatalf("%s has %d times %q, want %d; the suite has changed", name, got, old, n)
	}
	dbtest.NoError(t, os.WriteFile(name, bytes.ReplaceAll(file, []byte(old), []byte(text)), 0o644))
}

// results contains pass, fail or skip for each test, by package and test.
type results map[string]string

// run runs go test and returns the results.
func (s suite) run(t *testing.T, env []string, args ...string) results {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=30m"}, args...)...)
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, s.env(append(env, "TMPDIR="+t.TempDir())...), &stderr
	out, err := cmd.Output() // exits with 1 if a test fails
	got := results{}
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Package, Test, Action string }
		if lines.Decode(&event) != nil {
			break
		}
		if event.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			got[event.Package+" "+event.Test] = event.Action
		}
	}
	if len(got) == 0 || bytes.Contains(out, []byte("[build failed]")) {
		t.Fatalf("not all packages ran: %v\n%s%s", err, out, &stderr)
	}
	return got
}

// compare runs the suite with the hooks off and on. With or without hooks, some of
// these tests fail every now and then, so we repeat the suite if the results differ,
// and only consider the best ones.
func (s suite) compare(t *testing.T, env func() []string, args ...string) {
	t.Helper()
	hooks := []string{"off", "on"}
	got := [2]results{{}, {}}
	for range 4 {
		for i := range got {
			for test, result := range s.run(t, append(env(), "SNOWKEY_HOOKS="+hooks[i]), args...) {
				if got[i][test] != "pass" {
					got[i][test] = result
				}
			}
		}
		if len(differ(got[0], got[1])) == 0 {
			break
		}
	}
	for i, results := range got {
		counts, failed := map[string]int{}, ""
		for _, test := range slices.Sorted(maps.Keys(results)) {
			counts[results[test]]++
			if results[test] == "fail" {
				failed += "\n\t" + test
			}
		}
		t.Logf("%s, hooks %s: %d pass, %d skip, %d fail%s", args, hooks[i], counts["pass"], counts["skip"], counts["fail"], failed)
	}
	for _, test := range differ(got[0], got[1]) {
		t.Errorf("%s: %q with the hooks off, %q with the hooks on", test, got[0][test], got[1][test])
	}
}

// differ returns the tests that have different results.
func differ(a, b results) (tests []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, test := range slices.Sorted(maps.Keys(all)) {
		if a[test] != b[test] {
			tests = append(tests, test)
		}
	}
	return tests
}

// TestGORM runs gorm.io/gorm/tests from the checkout GORM_SRC.
func TestGORM(t *testing.T) {
	s := newSuite(t, "GORM_SRC", "tests", "hooks/gormid")
	s.goRun(t, "mod", "edit", "-replace", "gorm.io/gorm=../")
	s.add(t, "gorm.go", "snowkey_test.go")
	replace(t, filepath.Join(s.dir, "tests_test.go"), 1, "\tif debug := os.Getenv(", "\tif err = addHooks(db); err != nil {\n\t\treturn\n\t}\n\tif debug := os.Getenv(")
	for _, dialect := range dbtest.Databases(t) {
		t.Run(dialect, func(t *testing.T) {
			s.compare(t, func() []string {
				db := dbtest.Open(t, dialect)
				t.Log(db.Version)
				dsn := db.DSN
				if dialect == "mysql" {
					cfg := dbtest.Must(mysql.ParseDSN(dsn))(t)
					cfg.ParseTime, cfg.MultiStatements = true, false
					dsn = cfg.FormatDSN() + "&charset=utf8mb4&loc=Local"
				}
				return []string{"GORM_DIALECT=" + dialect, "GORM_DSN=" + dsn}
			}, ".")
		})
	}
}

// TestEnt runs entgo.io/ent/entc/integration from the checkout ENT_SRC. Its tests create and drop
// databases by name, so each run has a server of its own.
func TestEnt(t *testing.T) {
	s := newSuite(t, "ENT_SRC", "entc/integration", "ent/entid")
	s.add(t, "ent.go", "snowkey/snowkey.go")
	const imports, created = "\nimport (\n", "newConfig(opts...)}\n\tclient.init()\n"
	clients := 0
	for _, pattern := range []string{"ent/client.go", "*/ent/client.go"} {
		for _, file := range dbtest.Must(filepath.Glob(filepath.Join(s.dir, pattern)))(t) {
			if !strings.Contains(string(dbtest.Must(os.ReadFile(file))(t)), created) {
				continue // a client for gremlin, or one with its own template
			}
			replace(t, file, 1, created, created+"\tclient.Use(snowkey.Hooks()...)\n")
			replace(t, file, 1, imports, imports+"\t\"entgo.io/ent/entc/integration/snowkey\"\n")
			clients++
		}
	}
	if clients < 8 {
		t.Fatalf("only %d clients; the suite has changed", clients)
	}
	// The tests look for each version of a server at a port of its own.
	ports := regexp.MustCompile(`range map\[string\]int\{[^}]*\}`)
	address := strings.NewReplacer("root:pass@", "root@", `Passwd: "pass", `, "", ":3308", `:" + snowkey.Port() + "`)
	for _, folder := range []string{"", "config", "customid", "json", "migrate", "multischema"} {
		name := filepath.Join(s.dir, folder, cmp.Or(folder, "integration")+"_test.go")
		text := dbtest.Must(os.ReadFile(name))(t)
		text = ports.ReplaceAll(text, []byte("range snowkey.Ports()"))
		dbtest.NoError(t, os.WriteFile(name, []byte(address.Replace(string(text))), 0o644))
		replace(t, name, 1, imports, imports+"\t\"entgo.io/ent/entc/integration/snowkey\"\n")
	}
	for _, dialect := range dbtest.Databases(t) {
		t.Run(dialect, func(t *testing.T) {
			called := filepath.Join(t.TempDir(), "called")
			run := func(args ...string) {
				s.compare(t, func() []string {
					env := []string{"SNOWKEY_CALLED=" + called}
					if dialect == "sqlite" {
						return env
					}
					db := dbtest.Durable(t, dialect)
					t.Log(db.Version)
					dbtest.Exec(t, db.Connect(t), "CREATE DATABASE test")
					return append(env, "SNOWKEY_PORT="+regexp.MustCompile(`:(\d+)[)/]`).FindStringSubmatch(db.DSN)[1])
				}, args...)
				if _, err := os.Stat(called); err != nil {
					t.Errorf("no hook was called: %v", err)
				}
			}
			switch {
			case dialect == "sqlite":
				run("-skip", "MySQL|Maria|Postgres|TiDB", ".", "./cascadelete", "./config", "./customid", "./edgefield", "./edgeschema",
					"./hooks", "./idtype", "./json", "./migrate", "./privacy", "./template")
			case dialect == "postgres":
				run("-run", "^TestPostgres$", ".", "./customid", "./json", "./migrate")
			case dbtest.Open(t, dialect).MariaDB:
				run("-run", "^TestMaria$", ".", "./json")
				run("-run", "^TestMySQL$", "./config", "./customid", "./migrate", "./multischema")
			default:
				run("-run", "^TestMySQL$", ".", "./config", "./customid", "./json", "./migrate", "./multischema")
			}
		})
	}
}

// TestBun runs the tests of bun that use databases, from the checkout BUN_SRC.
func TestBun(t *testing.T) {
	s := newSuite(t, "BUN_SRC", "internal/dbtest", "hooks/bunid")
	s.add(t, "bun.go", "snowkey_test.go")
	opened := regexp.MustCompile(`db := bun\.NewDB\((sqldb, \w+\.New\(\))\)`)
	name := filepath.Join(s.dir, "db_test.go")
	text := dbtest.Must(os.ReadFile(name))(t)
	if n := len(opened.FindAll(text, -1)); n != 7 {
		t.Fatalf("%s opens %d databases, want 7; the suite has changed", name, n)
	}
	dbtest.NoError(t, os.WriteFile(name, opened.ReplaceAll(text, []byte("db := addHooks(bun.NewDB($1))")), 0o644))
	names := []string{"pg", "pgx", "mysql5", "mysql8", "mariadb", "sqlite", "mssql2019"}
	for _, dialect := range dbtest.Databases(t) {
		t.Run(dialect, func(t *testing.T) {
			about := dbtest.Open(t, dialect)
			own := []string{"sqlite"}
			switch {
			case dialect == "postgres":
				own = []string{"pg", "pgx"}
			case about.MariaDB:
				own = []string{"mariadb"}
			case dialect == "mysql":
				own = []string{"mysql8"}
			}
			// TestModelHook counts the calls of BeforeInsert. The guard makes one more, to find out
			// whether it fills the key.
			skip := "^TestModelHook$|^TestMssql"
			if dialect != "postgres" {
				skip += "|^Test(Postgres|Listener|ConnResolver)"
			}
			others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(own, name) })
			s.compare(t, func() []string {
				db := dbtest.Open(t, dialect)
				t.Log(db.Version)
				switch dialect {
				case "postgres":
					return []string{"PG=" + db.With("sslmode=disable").DSN}
				case "mysql":
					cfg := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
					cfg.ParseTime = false
					return []string{"MYSQL=" + cfg.FormatDSN(), "MARIADB=" + cfg.FormatDSN()}
				}
				return nil
			}, "-skip", skip+"|^.*$/^("+strings.Join(others, "|")+")$", ".")
		})
	}
}
