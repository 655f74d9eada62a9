// Package docs_test tests what the pages of this repository show.
package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../"

// readmes are the README in all its languages.
var readmes = []string{"README.md", "README.zh-CN.md"}

// The Go code of the first screen is that of the examples, to the letter.
func TestReadmeShowsTheExamples(t *testing.T) {
	examples := read(t, "examples/gorm/main.go") + read(t, "examples/ent/main.go") + read(t, "examples/ent/ent/schema/user.go")
	for _, name := range readmes {
		t.Run(name, func(t *testing.T) {
			first, _, _ := strings.Cut(read(t, name), "\n## ")
			blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(first, -1)
			if len(blocks) != 3 {
				t.Errorf("%d blocks of Go code, want 3", len(blocks))
			}
			for _, block := range blocks {
				if !strings.Contains(examples, block[1]) {
					t.Errorf("no example has\n%s", block[1])
				}
			}
		})
	}
}

// The translation has the same commands and figures.
func TestReadmesAgree(t *testing.T) {
	facts := regexp.MustCompile("(?m)^(go |make )[^#\n]*|\\d[\\d.,–]* (?:ns|MB|%)|\\(0\\.[^)]*\\)|go-gorm/gorm/issues/\\d+")
	english, chinese := facts.FindAllString(read(t, readmes[0]), -1), facts.FindAllString(read(t, readmes[1]), -1)
	slices.Sort(english)
	slices.Sort(chinese)
	if len(english) < 30 || !slices.Equal(english, chinese) {
		t.Errorf("the facts of the README are\n%q\nand of its translation\n%q", english, chinese)
	}
}

// The programs print ids like those that the README shows, also when they run again.
func TestReadmeShowsTheOutput(t *testing.T) {
	ids := regexp.MustCompile(`^\d{18}( \d{18})?\n$`)
	for _, name := range readmes {
		shown := regexp.MustCompile("```\n(\\d.*\n)```").FindAllStringSubmatch(read(t, name), -1)
		for _, block := range shown {
			if !ids.MatchString(block[1]) {
				t.Errorf("%s shows %q", name, block[1])
			}
		}
		if len(shown) != 2 {
			t.Errorf("%s shows %d outputs, want 2", name, len(shown))
		}
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
