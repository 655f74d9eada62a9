//go:build modules

package modproxy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/modproxy"
)

// A reader who does what the README says must end up with a program that runs, also on
// another database.
func TestReadme(t *testing.T) {
	readme := read(t, root, "README.md")
	_, try, _ := strings.Cut(readme, "\n**Try it**")
	try, _, _ = strings.Cut(try, "\n## ")
	shown := "```\n" + printed.FindString(readme) + "```\n"
	r := newReader(t)
	r.follow(t, try+shown)

	program := read(t, r.dir, "main.go")
	for _, db := range []struct {
		name, driver, store string
		open                func(dbtest.TB) dbtest.DB
	}{
		{"Postgres", "postgres", "Postgres", dbtest.Postgres},
		{"MySQL and MariaDB", "mysql", "MySQL", dbtest.MySQL},
	} {
		t.Run(db.name, func(t *testing.T) {
			_, advice, _ := strings.Cut(readme, "n "+db.name+", ")
			for _, name := range []string{db.driver + ".Open", "gorm.io/driver/" + db.driver, "sqlstore." + db.store} {
				if i := strings.Index(advice, name); i < 0 || i > 100 {
					t.Errorf("the README doesn't name %s", name)
				}
			}
			changed := regexp.MustCompile(`sqlite\.Open\("[^"]*"\)`).ReplaceAllString(program, db.driver+`.Open(os.Getenv("DATABASE_URL"))`)
			changed = strings.NewReplacer(`"github.com/glebarez/sqlite"`, `"gorm.io/driver/`+db.driver+"\"\n\t\"os\"", "sqlstore.SQLite", "sqlstore."+db.store).Replace(changed)
			write(t, r.dir, "main.go", changed)
			r.on(db.open(t)).follow(t, "```\ngo mod tidy\ngo run .\n```\n"+shown)
		})
	}
}

// A reader who starts with an empty folder, and does what docs/README.md and the page of an
// ORM or driver say, must end up with a program that runs, also on another database.
func TestStart(t *testing.T) {
	start := section(t, "README.md", "## Start")
	for _, c := range []struct {
		page, heading string
		database      func(dbtest.TB) dbtest.DB // nil for SQLite
		then          func(*testing.T, reader)
	}{
		{"gorm.md", "# GORM", nil, func(t *testing.T, r reader) {
			r.replicas(t, section(t, "gorm.md", "## Postgres, with several replicas"))
		}},
		{"ent.md", "# ent", nil, func(t *testing.T, r reader) {
			r.on(dbtest.MySQL(t)).follow(t, section(t, "ent.md", "## MySQL and MariaDB")+"```\n250465781301518336\n```")
		}},
		{"bun.md", "# bun", nil, nil},
		{"sql.md", "## database/sql", dbtest.MySQL, func(t *testing.T, r reader) {
			write(t, r.dir, "main.go", strings.NewReplacer("github.com/go-sql-driver/mysql", "github.com/jackc/pgx/v5/stdlib", `"mysql"`, `"pgx"`,
				"sqlstore.MySQL", "sqlstore.Postgres", "(?, ?)", "($1, $2)").Replace(read(t, r.dir, "main.go")))
			r.on(dbtest.Postgres(t)).follow(t, "```\ngo mod tidy\ngo run .\n```\n```\n250409604557799424 250409604557799425\n```")
		}},
		{"sql.md", "## pgx", dbtest.Postgres, nil},
	} {
		t.Run(strings.Trim(c.heading, "# "), func(t *testing.T) {
			r := newReader(t)
			r.follow(t, start)
			first := r
			if c.database != nil {
				first = r.on(c.database(t))
			}
			first.follow(t, section(t, c.page, c.heading))
			if c.then != nil {
				c.then(t, r)
			}
		})
	}
}

// section returns the text between a heading of a page in docs and the next heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut("\n"+read(t, root, "docs/"+page), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/%s has no heading %q", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n#")
	return text + "\n"
}

const root = "../.."

// A reader follows the instructions of a page within a folder.
type reader struct {
	dir string
	env []string
}

// newReader returns a reader with an empty folder, whose go command has its usual flags and
// module cache. It doesn't know the work tree's module proxy, because readers have a clone.
func newReader(t *testing.T) reader {
	t.Helper()
	env := dbtest.Must(modproxy.Env(t.TempDir(), ""))(t)
	dir := filepath.Join(t.TempDir(), "shop")
	dbtest.NoError(t, os.Mkdir(dir, 0o755))
	return reader{dir, append(env, "GOFLAGS=")}
}

// on returns a reader whose programs use a database.
func (r reader) on(db dbtest.DB) reader {
	return reader{r.dir, append(slices.Clone(r.env), "DATABASE_URL="+db.DSN)}
}

// This matches a block of code, along with the name of a file if the text before it has
// one.
var block = regexp.MustCompile("(?s)(?:`([\\w/]+\\.go)`[^`]*?\n\n)?```(\\w*)\n(.*?)```")

// This matches the line of keys that a program prints. GORM may print slow statements
// in addition.
var printed = regexp.MustCompile(`(?m)^\d{18}( \d{18})?\n`)

// follow goes through the text in order. It saves the files, changes their lines, and
// runs the commands. A block of numbers must match what the command before it has
// printed.
func (r reader) follow(t *testing.T, text string) {
	t.Helper()
	var out, name string
	for _, b := range block.FindAllStringSubmatch(text, -1) {
		if b[1] != "" {
			name = b[1]
		}
		switch lines := b[3]; {
		case b[2] == "go":
			dbtest.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755))
			write(t, r.dir, name, lines)
		case b[2] == "diff":
			write(t, r.dir, "main.go", replace(t, read(t, r.dir, "main.go"), lines))
		case printed.MatchString(lines):
			if len(printed.FindString(out)) != len(lines) {
				t.Errorf("the program prints %q, the page shows %q", out, lines)
			}
		default:
			for line := range strings.Lines(lines) {
				out = r.run(t, line)
			}
		}
	}
}

// replace replaces each group of lines that start with "-" by the "+" lines that
// follow.
func replace(t *testing.T, file, diff string) string {
	t.Helper()
	for _, change := range regexp.MustCompile(`((?:-.*\n)+)((?:\+.*\n)+)`).FindAllStringSubmatch(diff, -1) {
		old, changed := regexp.MustCompile(`(?m)^-`).ReplaceAllString(change[1], ""), regexp.MustCompile(`(?m)^\+`).ReplaceAllString(change[2], "")
		if strings.Count(file, old) != 1 {
			t.Fatalf("the program has %d times\n%s", strings.Count(file, old), old)
		}
		file = strings.Replace(file, old, changed, 1)
	}
	return file
}

// clone stands for the command that clones the repository: the work tree is linked.
var clone = regexp.MustCompile(`^git clone https://github\.com/snowkey-go/snowkey (\S+)\n?$`)

// run runs a command.
func (r reader) run(t *testing.T, line string) string {
	t.Helper()
	if to := clone.FindStringSubmatch(line); to != nil {
		tree, err := filepath.Abs(root)
		if err == nil {
			err = os.Symlink(tree, filepath.Join(r.dir, to[1]))
		}
		dbtest.NoError(t, err)
		return ""
	}
	cmd := exec.Command("sh", "-c", line)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = r.dir, &stderr
	cmd.Env = r.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, out, &stderr)
	}
	return string(out)
}

// replicas starts the program three times at once on an empty Postgres, and does so
// five times. Without the lock, some of the replicas would fail.
func (r reader) replicas(t *testing.T, body string) {
	r.follow(t, strings.Replace(body, "go run .", "go build -o shop .", 1))
	for range 5 {
		db := dbtest.Postgres(t)
		var wg sync.WaitGroup
		outs, errs := make([]string, 3), make([]error, 3)
		for i := range outs {
			wg.Go(func() {
				cmd := exec.Command(filepath.Join(r.dir, "shop"))
				cmd.Env = append(os.Environ(), "DATABASE_URL="+db.DSN)
				out, err := cmd.Output()
				outs[i], errs[i] = printed.FindString(string(out)), err
			})
		}
		wg.Wait()
		seen := map[string]bool{}
		for i, out := range outs {
			keys := strings.Fields(out)
			if errs[i] != nil || len(keys) != 2 {
				t.Errorf("replica %d: %v; it prints %q", i, errs[i], keys)
			}
			for _, key := range keys {
				if seen[key] {
					t.Errorf("two rows have the key %s", key)
				}
				seen[key] = true
			}
		}
		if rows := dbtest.Rows(t, db.Connect(t), "SELECT count(*) FROM users"); len(rows) != 1 || rows[0] != "6" {
			t.Errorf("the table has %q rows, want 6", rows)
		}
	}
}
