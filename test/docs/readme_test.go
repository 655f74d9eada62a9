// Package docs_test tests what the pages of this repository show.
package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const root = "../../"

// The programs that the README shows are those that the examples folder holds,
// to the letter, so that they are known to compile and run.
func TestReadmeShowsTheExamples(t *testing.T) {
	readme, err := os.ReadFile(root + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"examples/ent/ent/schema/user.go", "examples/ent/main.go", "examples/gorm/main.go"} {
		code, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), "```go\n"+string(code)+"```\n") {
			t.Errorf("the README does not show %s as it is", file)
		}
	}
}

// Every file that a page links to exists.
func TestLinksInThePages(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range []string{"README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(root + page)
		if err != nil {
			t.Fatal(err)
		}
		links := link.FindAllSubmatch(text, -1)
		if len(links) == 0 {
			t.Errorf("%s has no link to check", page)
		}
		for _, m := range links {
			if _, err := os.Stat(root + string(m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
