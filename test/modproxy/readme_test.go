//go:build modules

package modproxy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// For each ORM, a reader who starts with an empty folder and does what the README says
// must end up with a program that runs.
func TestReadmeFromAnEmptyFolder(t *testing.T) {
	readme := dbtest.Must(os.ReadFile("../../README.md"))(t)
	_, rest, _ := strings.Cut(string(readme), "\n## From an empty folder\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	start, rest, _ := strings.Cut(rest, "<details><summary><b>")
	sections := strings.Split(rest, "<details><summary><b>")
	if len(sections) != 4 {
		t.Fatalf("%d sections, want GORM, GORM on Postgres, ent and bun", len(sections))
	}
	p := newProxy(t)
	for i, section := range sections {
		title, body, _ := strings.Cut(section, "</b></summary>")
		t.Run(title, func(t *testing.T) {
			r := reader{p, t.TempDir()}
			r.follow(t, start)
			if replicas := strings.Contains(title, "Postgres"); replicas {
				r.follow(t, sections[i-1])
				r.replicas(t, body)
			} else {
				r.follow(t, body)
				r.run(t, "go run .")
			}
		})
	}
}

// A reader follows the instructions of a README within a folder.
type reader struct {
	p   proxy
	dir string
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
				t.Errorf("the program prints %q, the README shows %q", out, lines)
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

// run runs a command from the README. To do what a reader would do, go must build with
// its usual flags.
func (r reader) run(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = r.dir, &stderr
	cmd.Env = append(r.p.env, "GOFLAGS=-modcacherw")
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
