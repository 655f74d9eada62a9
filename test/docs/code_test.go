package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPagesShowExamples checks that all code on some pages is taken from files that are
// compiled and run by tests. Shell commands and lists of output aren't compared.
func TestPagesShowExamples(t *testing.T) {
	readme := []string{"examples/gorm/main.go", "examples/ent/ent/schema/user.go", "examples/ent/main.go", "schema/pk/public/example_test.go", "test/docs/existing_test.go"}
	for page, files := range map[string][]string{
		"README.md":          readme,
		"README.zh-CN.md":    readme,
		"docs/operations.md": {"examples/production/service.go", "metrics/snowkeyprom/example_test.go", "metrics/snowkeyotel/example_test.go"},
		"docs/services.md":   {"examples/services/main.go", "example_test.go", "service/service_test.go", "service/client/client_test.go"},
		"docs/public-ids.md": {"schema/pk/example_test.go", "schema/pk/public/example_test.go"},
		"docs/web.md":        {"examples/web/*_test.go", "test/entgql/graph/resolver.go"},
		"docs/sessions.md":   {"examples/session/*.go"},
		"docs/recipes.md": {"test/recipes/*_test.go", "test/recipes/*/*_test.go", "test/gormid/ginvueadmin_test.go",
			"test/recipes/gozero/schema.sql", "test/recipes/gozero/template/model/*.tpl"},
		"docs/leaving-auto-increment.md": {"test/docs/existing_test.go"},
	} {
		var code strings.Builder
		for _, pattern := range files {
			names, err := filepath.Glob(root + pattern)
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			for _, name := range names {
				code.WriteString(plain(read(t, strings.TrimPrefix(name, root))))
			}
		}
		// login10 is the function login of the page, because the package has another one.
		all := strings.ReplaceAll(code.String(), "login10(", "login(")
		blocks, compared := strings.Split("\n"+read(t, page), "\n```"), 0
		for i := 1; i < len(blocks); i += 2 {
			language, block, _ := strings.Cut(blocks[i], "\n")
			if language != "go" && (page != "docs/recipes.md" || language == "sh") {
				continue
			}
			if compared++; !strings.Contains(all, plain(block)) {
				t.Errorf("%s: no file has\n%s", page, block)
			}
		}
		if compared < 2 {
			t.Errorf("%s has only %d blocks of code", page, compared)
		}
	}
}

// The program for ent is the example, except for the name of the package that ent
// generates. A test of modproxy runs it.
func TestStartShowsTheExample(t *testing.T) {
	page := read(t, "docs/start.md")
	for _, name := range []string{"examples/ent/ent/schema/user.go", "examples/ent/main.go"} {
		example := strings.ReplaceAll(read(t, name), "github.com/snowkey-go/snowkey/examples/ent/ent", "shop/ent")
		if !strings.Contains(page, "```go\n"+example+"```") {
			t.Errorf("docs/start.md doesn't have %s:\n%s", name, example)
		}
	}
}

// plain returns code with a single space between words.
func plain(code string) string { return strings.Join(strings.Fields(code), " ") + " " }
