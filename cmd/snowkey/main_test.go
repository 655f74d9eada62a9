package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// called is the outcome of running the program.
type called struct {
	status      int
	out, errors string
}

// prints checks the status and texts on the standard output.
func (c called) prints(t *testing.T, status int, texts ...string) {
	t.Helper()
	c.has(t, status, c.out, texts)
}

// says checks the status and texts on the standard error.
func (c called) says(t *testing.T, status int, texts ...string) {
	t.Helper()
	c.has(t, status, c.errors, texts)
}

func (c called) has(t *testing.T, status int, output string, texts []string) {
	t.Helper()
	if c.status != status || slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(output, text) }) {
		t.Errorf("%+v, want status %d and %q", c, status, texts)
	}
}

func call(t *testing.T, env map[string]string, args ...string) called {
	t.Helper()
	return callWith(t, env, "", args...)
}

// callWith runs the program with the given standard input.
func callWith(t *testing.T, env map[string]string, stdin string, args ...string) called {
	t.Helper()
	var out, errors bytes.Buffer
	status := run(t.Context(), system{strings.NewReader(stdin), &out, &errors, func(name string) string { return env[name] }}, args)
	return called{status, out.String(), errors.String()}
}

// counting has the types of keys that databases count.
var counting = map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}

func TestInspect(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		dbtest.Must(conn.Exec("CREATE TABLE users (id " + counting[db.Dialect] + ")"))(t)
		file := filepath.Join(t.TempDir(), "dsn")
		dbtest.NoError(t, os.WriteFile(file, []byte(db.DSN+"\nmore\n"), 0o600))
		want := called{}
		for i, got := range []called{
			call(t, nil, "migrate", "inspect", "--dsn", db.DSN),
			call(t, nil, "migrate", "inspect", "--dsn-file="+file),
			call(t, map[string]string{"SNOWKEY_DSN": db.DSN}, "migrate", "inspect"),
			call(t, map[string]string{"SNOWKEY_DSN": db.DSN}, "migrate", "inspect", "--dialect", db.Dialect),
		} {
			if i == 0 {
				want = got
			}
			if got != want || got.status != 0 || got.errors != "" || !strings.Contains(got.out, "1 auto-increment key;") {
				t.Errorf("call %d: %+v", i, got)
			}
		}
		var report catalog.Report
		got := call(t, map[string]string{"SNOWKEY_DSN": db.DSN}, "migrate", "inspect", "--json")
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || len(report.Keys) != 1 {
			t.Errorf("JSON: %v of %+v", err, got)
		}
		call(t, map[string]string{"SNOWKEY_DSN": db.DSN}, "migrate", "inspect", "--schema", "main", "--schema", "nowhere").says(t, 1, "there is no schema of this name")
	})
}

// TestSQLiteFile checks that a path may contain any characters, and that a missing file
// doesn't get created.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	dbtest.SQLite(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a b#c?d%20.db")
	call(t, nil, "migrate", "inspect", "--dialect", "sqlite", "--dsn", path).says(t, 1, "no such file")
	call(t, nil, "migrate", "inspect", "--dsn", "file:"+filepath.Join(dir, "none.db")).says(t, 1)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("a file was made: %v, %v", entries, err)
	}
	dbtest.NoError(t, os.WriteFile(path, nil, 0o600)) // SQLite treats an empty file as an empty database
	call(t, nil, "migrate", "inspect", "--dsn", path).prints(t, 0, "0 auto-increment keys")
}

// TestPasswordIsNotPrinted checks that no error contains the password, not even if the
// data source name is malformed.
func TestPasswordIsNotPrinted(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, dsn := range []string{
		"postgres://user:" + secret + "@127.0.0.1:1/shop",
		"postgres://user:" + secret + "@127.0.0.1:port/shop",
		"postgres://user:x#" + secret + "@127.0.0.1:1/shop",
		"postgres://user:x?" + secret + "@127.0.0.1:1/shop",
		"postgres://user:x/" + secret + "@127.0.0.1:1/shop",
		"postgres://user:%zz" + secret + "@127.0.0.1:1/shop",
		"postgres://user:x@127.0.0.1:1/shop?sslmode=" + secret,
		"host=127.0.0.1 port=1 password=" + secret,
		"host=127.0.0.1 port=1 password='" + secret,
		"host=127.0.0.1 port=" + secret,
		"user:" + secret + "@tcp(127.0.0.1:1)/shop",
		"user:" + secret + "@tcp(127.0.0.1:1",
		"user:" + secret + "@127.0.0.1/shop",
		"user:x@tcp(127.0.0.1:1)/shop?parseTime=" + secret,
		"mysql://user:" + secret + "@127.0.0.1:1/shop",
		secret,
		"file:/nowhere?%zz=" + secret,
	} {
		for _, dialect := range []string{"", "postgres", "mysql", "sqlite"} {
			if dialect == "sqlite" && strings.HasPrefix(dsn, "file:") {
				continue
			}
			got := call(t, nil, "migrate", "inspect", "--dsn", dsn, "--dialect", dialect)
			if got.status != 1 || got.errors == "" || strings.Contains(got.errors+got.out, secret) {
				t.Errorf("%s as %q: %+v", dsn, dialect, got)
			}
		}
		if got := call(t, nil, "migrate", "inspect", dsn); got.status != 2 || strings.Contains(got.errors+got.out, secret) {
			t.Errorf("%s as an argument: %+v", dsn, got)
		}
	}
}

// TestUsage checks that what people try first leads them to the right command.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args   string
		status int
		says   string
	}{
		{"", 0, "migrate"},
		{"help", 0, "migrate"},
		{"--help", 0, "migrate"},
		{"--version", 0, "snowkey version"},
		{"nonsense", 2, `no command "nonsense"`},
		{"decode", 2, "did you mean inspect?"},
		{"worker", 2, "did you mean workers?"},
		{"280421183266521089", 2, "snowkey inspect ID"},
		{"xyz", 2, "it has "},
		{"postgres://me:hunter2@db/db", 2, "which command? The first argument is not one"},
		{"migrate", 2, "inspect"},
		{"migrate -h", 0, "inspect"},
		{"migrate postgres://user@host/shop", 2, "not one"},
		{"migrate inspect -h", 0, "SNOWKEY_DSN"},
		{"migrate inspect --nonsense", 2, "nonsense"},
		{"migrate inspect -dsn shop.db", 2, "write --dsn"},
		{"migrate inspect", 1, "which database?"},
		{"migrate plan --child numbers", 2, "such as orders.user_id=users.id"},
		{"migrate plan --not-child numbers", 2, "write table.column"},
		{"migrate inspect --dsn a --dsn-file b", 1, "exclude each other"},
		{"migrate inspect --dsn-file /nowhere/at/all", 1, "/nowhere/at/all"},
		{"migrate inspect --dsn x --dialect oracle", 1, "--dialect is"},
		{"migrate inspect --dsn no=nsense", 1, "not recognised"},
		{"doctor --dsn redis://:secret@127.0.0.1:6379", 1, "no client of etcd, Redis or ZooKeeper"},
		{"fence --dsn etcd://127.0.0.1:2379", 1, "snowkey.Fence"},
		{"serve --listen :8080", 2, "--addr"},
		{"serve --listen=:8080", 2, "--addr"},
		{"serve --unknown", 2, "unknown flag: --unknown"},
		{"serve -addr :0", 2, "write --addr"},
		{"serve --dsn zookeeper://127.0.0.1:2181", 1, "service.NewHandler"},
		{"migrate inspect --dsn shpo.db", 1, "no such file"},
		{"migrate inspect --dsn mysql://root@localhost/shop", 1, "write user:password@tcp(host:3306)/database"},
		{"inspect 12x", 1, "plain decimal"},
		{"inspect 1 --form octal", 2, "write decimal, sortable, hex"},
		{"inspect 1 --layout nowhere", 2, "the presets are default, jssafe"},
		{"inspect 1 --layout time:41", 2, "is not what Layout.String writes"},
		{"inspect 1 --layout auto", 1, "no preset"},
		{"layout default jssafe", 2, "takes one preset"},
		{"layout --sql oracle", 2, `"oracle"; write one of postgres`},
		{"layout --sql postgres nolayout", 2, "the presets are"},
		{"layout --files x", 2, "need --sql"},
		{"layout --sql mysql --format goose", 2, "needs --files"},
		{"layout --sql mysql --files x --format flyway", 2, `"flyway"`},
		{"layout --sql sqlite --files x", 2, "has no functions"},
		{"range --from 2026-11-01", 2, "needed"},
		{"range --from 2026-11-01 --to yesterday", 2, `--to is "yesterday"`},
		{"range --from 2026-11-01 --to 2026-11-01", 2, "not before"},
		{"range --from 2024-12-31 --to 2025-01-02", 1, "2025-01-01"},
		{"range --from 2026-11-23T00:00:00.0001Z --to 2026-11-23T00:00:00.0009Z", 1, "no tick"},
		{"workers 5", 2, "only flags"},
		{"workers free", 2, "one worker number"},
		{"workers free x --dir /nowhere/at/all", 2, "such as 3"},
		{"workers --dir /nowhere --dsn x", 2, "--dir excludes"},
		{"workers --dir /nowhere/at/all", 1, "/nowhere/at/all"},
		{"workers --dsn " + os.DevNull + "/x --dialect sqlite", 1, "no such file"},
		{"fleet", 2, "which command? check"},
		{"fleet check", 2, "takes one file"},
		{"fleet check /nowhere/at/all", 1, "/nowhere/at/all"},
		{"fleet check fleet.txt --dir /nowhere/at/all", 2, "which service has this store?"},
		{"doctor --fleet fleet.txt --dir /nowhere/at/all", 2, "--fleet and --service"},
		{"doctor --fleet /nowhere/at/all --service orders --dir /nowhere/at/all", 1, "/nowhere/at/all"},
		{"doctor --fleet " + os.DevNull + " --service orders --dir /nowhere/at/all", 1, "in no range"},
		{"init", 1, "which kind of database?"},
		{"init --dialect oracle", 1, "--dialect is"},
		{"init --apply", 1, "which database?"},
		{"init --dialect mysql --table a;b", 1, "a;b"},
		{"init --dialect sqlite", 0, "needs no tables"},
		{"sql --dialect sqlite", 2, "write postgres, mysql or mariadb"},
		{"sql --dialect mysql --schema shop", 2, "MySQL has none"},
		{"sql --dialect mysql --layout mastodon", 2, "no worker field"},
	} {
		got := call(t, nil, strings.Fields(tc.args)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errors, tc.says) || strings.Contains(got.errors, "hunter2") {
			t.Errorf("snowkey %s: %+v", tc.args, got)
		}
		if tc.status == 0 && got.errors != "" || tc.status != 0 && got.out != "" {
			t.Errorf("snowkey %s wrote to the other output: %+v", tc.args, got)
		}
	}
}

// TestMigrate goes through a whole migration, using only commands.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		for _, table := range []string{"users", "numbers"} {
			dbtest.Must(conn.Exec("CREATE TABLE " + table + " (id " + counting[db.Dialect] + ", name varchar(20))"))(t)
		}
		env := map[string]string{"SNOWKEY_DSN": db.DSN}
		file := filepath.Join(t.TempDir(), "plan.sql")
		ok := func(says string, args ...string) {
			t.Helper()
			call(t, env, append([]string{"migrate"}, args...)...).prints(t, 0, says)
		}
		fails := func(says string, args ...string) {
			t.Helper()
			call(t, env, append([]string{"migrate"}, args...)...).says(t, 1, says)
		}
		ok("-- phase: guard", "plan")
		fails(`no table "nowhere"`, "plan", "--except", "nowhere")
		fails("no single column of integers", "plan", "--not-child", "numbers.nothing")
		ok("", "plan", "--except", "numbers", "-o", file)
		fails("writing the plan", "plan", "-o", file)
		fails("refuted", "verify", "--plan", file)
		fails("after widen", "apply", "--plan", file, "--phase", "drop")
		fails(`no phase "nonsense"`, "apply", "--plan", file, "--phase", "nonsense")
		ok("dry run", "apply", "--plan", file, "--dry-run")
		ok("next is the phase widen, 1 of 6", "status", "--plan", file)
		for _, phase := range []autoinc.PhaseName{autoinc.Widen, autoinc.Readers, autoinc.Fence, autoinc.SwitchOn, autoinc.Drop, autoinc.Guard} {
			if phase == autoinc.Drop || phase == autoinc.Guard {
				fails("--yes", "apply", "--plan", file)
				ok("next is the phase "+string(phase), "status", "--plan", file)
			}
			ok("the phase "+string(phase)+" is complete", "apply", "--plan", file, "--yes")
		}
		ok("all 6 phases are complete", "status", "--plan", file)
		ok("every phase is complete", "apply", "--plan", file)
		ok("done before", "apply", "--plan", file, "--phase", "guard")
		ok(", 0 refuted", "verify", "--plan", file)
		ok(`"verdict": "proven"`, "verify", "--plan", file, "--json")
		ok("1 auto-increment key;", "inspect")
		fails(`no phase "nonsense"`, "undo", "--plan", file, "--phase", "nonsense")
		ok("dry run", "undo", "--plan", file, "--dry-run")
		ok("reversed: ", "undo", "--plan", file, "--phase", "guard")
		ok("the phase guard is complete", "apply", "--plan", file, "--yes")
		dbtest.Must(conn.Exec("INSERT INTO users (id) VALUES (7350000000000000001)"))(t)
		fails("7350000000000000001", "undo", "--plan", file)
		dbtest.Must(conn.Exec("DELETE FROM users"))(t)
		ok("the plan was reversed", "undo", "--plan", file)
		ok("nothing to reverse", "undo", "--plan", file)
		ok("2 auto-increment keys;", "inspect")
		fails("which plan?", "apply")
		fails("reading the plan", "verify", "--plan", file+"x")
	})
}

// TestRekey replaces keys, using only commands, in a database without leases. Except on SQLite it
// does so online, where apply waits until control tells it that the application is stopped.
func TestRekey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		if db.Dialect != "sqlite" {
			db = dbtest.Durable(t, db.Dialect) // or no worker number is known to be unused
		}
		conn := db.Connect(t)
		dbtest.Exec(t, conn, "CREATE TABLE users (id varchar(36) PRIMARY KEY, name varchar(20))", "INSERT INTO users VALUES ('key b', 'b'), ('key a', 'a')")
		env := map[string]string{"SNOWKEY_DSN": db.DSN}
		file := filepath.Join(t.TempDir(), "rekey.sql")
		migrate := func(args ...string) called { return call(t, env, append([]string{"migrate"}, args...)...) }
		plan := []string{"rekey", "--from", "2025-01-01", "--to", "2026-01-01", "-o", file}
		online := append(plan, "--online")
		if db.Dialect != "sqlite" {
			plan = online
		} else {
			migrate(online...).says(t, 1, "plan without --online")
		}
		migrate(plan...).prints(t, 0)
		migrate("apply", "--plan", file).prints(t, 0, "the phase map is complete")
		held, says := false, new(bytes.Buffer)
		status := run(t.Context(), system{strings.NewReader(""), writerFunc(func(text string) {
			if strings.Contains(text, "ready to be replaced") && !held {
				held = true
				dbtest.Exec(t, conn, "INSERT INTO users VALUES ('key c', 'c')")
				migrate("control", "continue", "--plan", file).prints(t, 0)
			}
		}), says, func(name string) string { return env[name] }}, []string{"migrate", "apply", "--hold-swap", "--yes", "--plan", file})
		if status != 0 || held != (db.Dialect != "sqlite") {
			t.Fatalf("status %d, held %t: %s", status, held, says)
		}
		migrate("verify", "--plan", file).prints(t, 0, ", 0 refuted")
		names := dbtest.Rows(t, conn, "SELECT name FROM users ORDER BY id")
		if want := map[bool]string{true: "a b c", false: "a b"}[held]; strings.Join(names, " ") != want {
			t.Errorf("the rows are %q, want %s", names, want)
		}
		migrate("undo", "--plan", file).prints(t, 0, "the plan was reversed")
	})
}

// A writerFunc is a function that serves as an io.Writer.
type writerFunc func(text string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// TestStoppedBackfill checks that a signal stops a backfill after the current batch,
// that apply then says how to continue, and that the next apply continues with the next
// batch.
func TestStoppedBackfill(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t) // only Postgres has backfills
	conn := db.Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE users (id serial PRIMARY KEY)", "INSERT INTO users SELECT nextval('users_id_seq') FROM generate_series(1, 10000)")
	env := map[string]string{"SNOWKEY_DSN": db.DSN}
	file := filepath.Join(t.TempDir(), "plan.sql")
	call(t, env, "migrate", "plan", "--online", "-o", file).prints(t, 0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, bar bytes.Buffer
	status := run(ctx, system{strings.NewReader(""), &out, writerFunc(func(text string) {
		bar.WriteString(text)
		if strings.Contains(text, "%") { // this text belongs to the bar
			stop()
		}
	}), func(name string) string { return env[name] }}, []string{"migrate", "apply", "--plan", file, "--batch-size", "1000"})
	if says := "to continue, call: snowkey migrate apply --plan " + file; status != 1 || !strings.Contains(bar.String(), says) {
		t.Errorf("status %d, %q", status, bar.String())
	}
	var filled, first, recorded int
	err := conn.QueryRow(`SELECT count(snowkey_new_id), min((ctid::text::point)[0]::int) FILTER (WHERE snowkey_new_id IS NULL),
		(SELECT split_part(detail, ' of ', 1)::int FROM snowkey_migration WHERE detail LIKE '% of %') FROM users`).Scan(&filled, &first, &recorded)
	if err != nil || filled == 0 || filled == 10000 || first != recorded {
		t.Errorf("%d rows are filled, the first block that is not is %d, and %d are recorded: %v", filled, first, recorded, err)
	}
	call(t, env, "migrate", "apply", "--plan", file).prints(t, 0, "the phase widen is complete")
}
