package hostile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A restore replaces the two lease tables by older contents. Its statements are for one
// table at a time, and may refer to the table as {table} and to its copy as {saved}.
type restore struct {
	name       string
	statements map[string][]string // by dialect
	tools      bool                // use the database's own programs instead
	tables     []string            // defaults to both tables
	limit      map[string]bool     // dialects in which there's no way to notice, so we only log duplicates
	fast       bool                // whether it is tested on each push; the others only at night
}

func alike(statements ...string) map[string][]string {
	return map[string][]string{"postgres": statements, "mysql": statements}
}

var (
	never  = map[string]bool{}
	mysqls = map[string]bool{"mysql": true}
	both   = map[string]bool{"mysql": true, "postgres": true}
)

var restores = []restore{
	{fast: true, name: "DROP, CREATE, INSERT", limit: never, statements: map[string][]string{
		"postgres": {"DROP TABLE {table}", "CREATE TABLE {table} (LIKE {saved} INCLUDING ALL)", "INSERT INTO {table} SELECT * FROM {saved}"},
		"mysql":    {"DROP TABLE {table}", "CREATE TABLE {table} LIKE {saved}", "INSERT INTO {table} SELECT * FROM {saved}"},
	}},
	{name: "dump tool", limit: never, tools: true},
	{name: "TRUNCATE, INSERT", limit: mysqls, statements: alike("TRUNCATE TABLE {table}", "INSERT INTO {table} SELECT * FROM {saved}")},
	{name: "DELETE, INSERT", limit: mysqls, statements: alike("DELETE FROM {table}", "INSERT INTO {table} SELECT * FROM {saved}")},
	{name: "DELETE, INSERT of the leases alone", limit: both, tables: []string{leaseTable},
		statements: alike("DELETE FROM {table}", "INSERT INTO {table} SELECT * FROM {saved}")},
}

// A scene is a restore while program A runs or after it has ended.
type scene struct {
	restore
	lives bool // whether program A keeps running during the restore and afterwards
}

func (s scene) String() string {
	if s.lives {
		return s.name + ", A goes on"
	}
	return s.name + ", A killed before"
}

func scenes() (all []scene) {
	for _, r := range restores {
		if r.fast || dbtest.Nightly {
			all = append(all, scene{r, true}, scene{r, false})
		}
	}
	return all
}

// test lets an operator restore an older dump of the tables into the same database, with
// the server and its timeline unchanged. Program A, whose clock is ahead, holds the worker
// number. Program B, whose clock is behind, starts right after the restore. Both clocks
// are within MaxClockSkew.
func (r restore) test(t *testing.T, server dbtest.DB, lives bool) {
	const skew = 500 * time.Millisecond
	db := newDatabase(t, server)
	through, link := db.Through(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a := &program{name: "A", dialect: db.Dialect, db: through.Connect(t), clock: skew - 50*time.Millisecond, skew: skew}
	b := &program{name: "B", dialect: db.Dialect, db: db.Connect(t), clock: 50*time.Millisecond - skew, skew: skew}
	endA := a.start(ctx, t)
	putBack := r.save(t, db)
	sleep(ctx, ttl+skew) // what we restore must have expired
	awaitRenewal(t, db)
	if !lives {
		link.Cut()
		endA() // it can't release its worker number
	}
	putBack()

	before := a.issued()
	if lives {
		// If A is the first to lease the number again, B has to wait until A has ended.
		defer time.AfterFunc(2*ttl, endA).Stop()
	}
	if b.run(ctx, b.beyond(a)); b.err != nil {
		t.Errorf("program B: Open failed after %v: %v", b.opened.Round(time.Millisecond), b.err)
	}
	endA()
	if r.limit[db.Dialect] {
		v := together(a, b)
		t.Logf("%d duplicates among %d ids; a documented limit: call snowkey.Fence after such a restore", v.duplicates, v.ids)
		return
	}
	check(t, a, b)
	t.Logf("program A had issued %d ids before the restore", before)
}

// awaitRenewal waits until the lease has just been renewed.
func awaitRenewal(t *testing.T, db dbtest.DB) {
	t.Helper()
	conn := db.Connect(t)
	var first int64
	for deadline := time.Now().Add(time.Minute); ; sleep(t.Context(), 5*time.Millisecond) {
		var revision int64
		if err := conn.QueryRow("SELECT MAX(revision) FROM " + leaseTable).Scan(&revision); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = revision
		}
		if revision > first {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the lease was not renewed in a minute")
		}
	}
}

// save copies the current tables, and returns a function that restores them.
func (r restore) save(t *testing.T, db dbtest.DB) (putBack func()) {
	t.Helper()
	if r.tools {
		return r.dump(t, db)
	}
	tables := r.tables
	if tables == nil {
		tables = []string{leaseTable, namespaceTable}
	}
	for _, table := range tables {
		like := "CREATE TABLE saved_" + table + " LIKE " + table
		if db.Dialect == "postgres" {
			like = "CREATE TABLE saved_" + table + " (LIKE " + table + " INCLUDING ALL)"
		}
		execAll(t, db, like, "INSERT INTO saved_"+table+" SELECT * FROM "+table)
	}
	return func() {
		t.Helper()
		var statements []string
		for _, table := range tables {
			for _, s := range r.statements[db.Dialect] {
				statements = append(statements, strings.NewReplacer("{table}", table, "{saved}", "saved_"+table).Replace(s))
			}
		}
		execAll(t, db, statements...)
	}
}

// dump is like save, but uses pg_dump and psql, or mysqldump and mysql.
func (r restore) dump(t *testing.T, db dbtest.DB) (putBack func()) {
	t.Helper()
	var out, in []string
	var env []string
	if db.Dialect == "postgres" {
		out = []string{"pg_dump", "--clean", "--if-exists", "--table=" + leaseTable, "--table=" + namespaceTable, "--dbname=" + db.DSN}
		in = []string{"psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname=" + db.DSN}
	} else {
		cfg, err := mysqldriver.ParseDSN(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(cfg.Addr, ":")
		login := []string{"--no-defaults", "--protocol=tcp", "--host=" + host, "--port=" + port, "--user=" + cfg.User}
		env = []string{"MYSQL_PWD=" + cfg.Passwd}
		out = append(append([]string{"mysqldump"}, login...), "--single-transaction", "--skip-lock-tables", cfg.DBName, leaseTable, namespaceTable)
		in = append(append([]string{"mysql"}, login...), cfg.DBName)
	}
	for _, program := range []string{out[0], in[0]} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	text, err := runTool(out, env, nil)
	if err != nil {
		t.Skipf("these tools do not fit %s: %v", db.Version, err)
	}
	return func() {
		t.Helper()
		if _, err := runTool(in, env, text); err != nil {
			t.Fatal(err)
		}
	}
}

func runTool(args, env []string, input []byte) (output []byte, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err = cmd.Output()
	if err != nil {
		// Don't include the arguments, because they may contain a password.
		err = fmt.Errorf("%s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return output, err
}
