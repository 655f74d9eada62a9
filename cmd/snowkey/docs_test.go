package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// found lists the commands that exit with status 1 if they find something.
var found = []string{"snowkey doctor", "snowkey fleet check", "snowkey migrate verify", "snowkey vet"}

// A shell runs lines from the documentation. It has its own folder and database, in
// which worker number 3 is leased, along with some worker numbers of the namespace
// orders.
type shell struct {
	dir, program string
	env          []string
}

// command returns a call of the command.
func (s shell) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir, cmd.Env = s.dir, slices.Clone(s.env)
	return cmd
}

// TestMain makes the program of the tests be the command too, when it is called snowkey.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "snowkey" {
		main()
	}
	os.Exit(m.Run())
}

func newShell(t *testing.T) shell {
	t.Helper()
	dbtest.SQLite(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	for name, text := range map[string]string{
		"shop.db": "", "serve.db": "", "dsn.txt": path + "\n", "tokens.txt": "0123456789abcdef0123456789abcdef\nfedcba9876543210fedcba9876543210\n",
		"fleet.txt": "orders 0 255\npayments 256 511\nspare 512 1023\n",
		"go.mod":    "module example.com/shop\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n",
		"openapi.yaml": "openapi: 3.1.0\n", "web/page.js": "const id = parseInt(row.id);\n",
	} {
		dbtest.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		dbtest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	db := dbtest.Must(openSQLite(path, true))(t)
	t.Cleanup(func() { db.Close() })
	dbtest.Exec(t, db, "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
		"CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INT)", "CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT)")
	for _, s := range []store{sqlstore.SQLite(db), filestore.Dir(filepath.Join(dir, "leases"))} {
		hold(t, s, snowkey.Config{Window: time.Minute, MinWorker: 3, MaxWorker: 3})
		hold(t, s, snowkey.Config{Window: time.Minute, Namespace: "orders", Layout: idgen.JSSafe()})
	}
	bin := t.TempDir()
	program := filepath.Join(bin, "snowkey")
	dbtest.NoError(t, os.Symlink(dbtest.Must(os.Executable())(t), program))
	return shell{dir, program, append(os.Environ(), "SNOWKEY_DSN="+path, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))}
}

// run runs one line, which must succeed.
func (s shell) run(t *testing.T, line string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	serves := strings.HasPrefix(line, "snowkey serve")
	if serves { // another program may use the port
		line = strings.ReplaceAll(line, ":8080", ":0")
		if !strings.Contains(line, "--addr") {
			line += " --addr 127.0.0.1:0"
		}
	}
	if serves {
		// With --foreground it's one signal. A second one would end the program at once.
		line = "timeout --foreground --preserve-status --signal=INT 2 " + line
	}
	line = strings.Replace(line, "migrate apply ", "migrate apply --yes ", 1) // there is no terminal
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(line, "/var/lib/app/snowkey", filepath.Join(s.dir, "leases")))
	cmd.Dir, cmd.Env = s.dir, s.env
	if serves { // the leases of the other database have settings of their own
		cmd.Env = append(slices.Clone(s.env), "SNOWKEY_DSN="+filepath.Join(s.dir, "serve.db"))
	}
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	status := cmd.ProcessState.ExitCode()
	for _, prefix := range found {
		if strings.HasPrefix(line, prefix) && status == 1 && len(out) > 0 {
			err = nil
		}
	}
	if err != nil {
		t.Errorf("%s: %v: %s%s", line, err, out, wrong.String())
	}
	return string(out)
}

// TestExamples runs every example in the help of the commands.
func TestExamples(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); line != "" {
				s.run(t, line)
			}
		}
		if cmd.Example == "" && !cmd.HasSubCommands() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				visit(sub)
			}
		}
	}
	root := (&app{}).root()
	// The other examples of migrate need the plan that these make.
	plan, _, err := root.Find([]string{"migrate", "plan"})
	dbtest.NoError(t, err)
	visit(plan)
	plan.Parent().RemoveCommand(plan)
	visit(root)
	for _, name := range []string{"bash", "zsh", "fish"} {
		if out := s.run(t, "snowkey completion "+name); !strings.Contains(out, "snowkey") {
			t.Errorf("the completion for %s: %q", name, out)
		}
	}
	if out := s.run(t, "snowkey __complete inspect --layout '' 2>/dev/null"); !strings.Contains(out, "jssafe\n") {
		t.Errorf("layouts are not completed: %q", out)
	}
}

// TestPages runs each command on the pages, which must print what the pages say they do.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, atLeast := range map[string]int{"services": 3, "leases": 2, "layouts": 3, "operations": 12, "sql-default": 3, "leaving-auto-increment": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page(t, name+".md", atLeast)
		})
	}
}

func page(t *testing.T, name string, atLeast int) {
	file, err := os.Open("../../docs/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("a module by itself does not have the page")
	}
	dbtest.NoError(t, err)
	s := newShell(t)
	defer file.Close()
	var block []string
	kind, commands := "", 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		line := scanner.Text()
		switch {
		case !strings.HasPrefix(line, "```") && kind != "":
			block = append(block, line)
		case kind == "" && strings.HasPrefix(line, "```"):
			kind, block = line, nil
		case kind == "```console":
			commands++
			want := strings.Join(block[1:], "\n") + "\n"
			if got := s.run(t, strings.TrimPrefix(block[0], "$ ")); got != want {
				t.Errorf("%s\nprints\n%s\nthe page has\n%s", block[0], got, want)
			}
			kind = ""
		case kind == "```":
			for _, command := range block {
				if !strings.HasPrefix(command, "go install ") { // already tested by make release
					commands++
					s.run(t, command)
				}
			}
			kind = ""
		case slices.Contains([]string{"```go", "```text", "```sql", "```sh", "```python", "```ts", "```json"}, kind):
			kind = "" // test/docs looks for it in the code, or for the file; test/sqlgen and test/service run theirs
		case kind != "":
			t.Errorf("an unknown kind of block: %s", kind)
		}
	}
	if kind != "" || commands < atLeast {
		t.Error(fmt.Sprint("the page was not read: ", kind, commands))
	}
}
