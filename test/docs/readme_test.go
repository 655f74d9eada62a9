// Package docs_test tests what the pages of this repository show.
package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../"

// The Go code of the README's first screen is that of the examples, to the letter.
func TestReadmeShowsTheExamples(t *testing.T) {
	examples := read(t, "examples/gorm/main.go") + read(t, "examples/ent/main.go") + read(t, "examples/ent/ent/schema/user.go")
	first, _, _ := strings.Cut(read(t, "README.md"), "\n## ")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(first, -1)
	if len(blocks) != 3 {
		t.Errorf("%d blocks of Go code, want 3", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(examples, block[1]) {
			t.Errorf("no example has\n%s", block[1])
		}
	}
}

// The programs print ids like those that the README shows, also when they run again.
func TestReadmeShowsTheOutput(t *testing.T) {
	ids := regexp.MustCompile(`^\d{18}( \d{18})?\n$`)
	if shown := regexp.MustCompile("```\n(\\d.*\n)```").FindStringSubmatch(read(t, "README.md")); shown == nil || !ids.MatchString(shown[1]) {
		t.Errorf("the README shows %q", shown)
	}
	dir := t.TempDir()
	for _, name := range []string{"gorm", "ent"} {
		program := filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", program, root+"examples/"+name).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for range 2 {
			cmd := exec.Command(program)
			cmd.Dir = dir
			if out, err := cmd.Output(); err != nil || !ids.Match(out) {
				t.Errorf("%s printed %q, %v", name, out, err)
			}
		}
	}
}
