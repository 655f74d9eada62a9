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

// The first screen shows parts of the examples. The programs below it are the examples,
// to the letter but for the name of the package that ent generates.
func TestReadmeShowsTheExamples(t *testing.T) {
	var examples []string
	for _, name := range []string{"gorm/main.go", "ent/ent/schema/user.go", "ent/main.go", "bun/main.go"} {
		examples = append(examples, strings.ReplaceAll(read(t, "examples/"+name), "github.com/snowkey-go/snowkey/examples/ent/ent", "shop/ent"))
	}
	for _, name := range readmes {
		t.Run(name, func(t *testing.T) {
			first, rest, _ := strings.Cut(read(t, name), "\n## ")
			code := regexp.MustCompile("(?s)```go\n(.*?)```")
			parts := code.FindAllStringSubmatch(first, -1)
			if len(parts) != 3 {
				t.Errorf("%d blocks of Go code on the first screen, want 3", len(parts))
			}
			for _, part := range parts {
				if !slices.ContainsFunc(examples, func(example string) bool { return strings.Contains(example, part[1]) }) {
					t.Errorf("no example has\n%s", part[1])
				}
			}
			blocks := code.FindAllStringSubmatch(rest, -1)
			if len(blocks) < len(examples) {
				t.Fatalf("%d blocks of Go code, want %d", len(blocks), len(examples))
			}
			blocks = blocks[:len(examples)]
			for i, block := range blocks {
				if block[1] != examples[i] {
					t.Errorf("the example is\n%s\nand the README shows\n%s", examples[i], block[1])
				}
			}
		})
	}
}

// The translation has the same commands and figures.
func TestReadmesAgree(t *testing.T) {
	facts := regexp.MustCompile("(?m)^(?:[-+]\t.*|(go |make )[^#\n]*)|\\d[\\d.,–]* (?:ns|MB|%)|\\(0\\.[^)]*\\)|go-gorm/gorm/issues/\\d+")
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
		if len(shown) != 5 {
			t.Errorf("%s shows %d outputs, want 5", name, len(shown))
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"gorm", "ent", "bun"} {
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
