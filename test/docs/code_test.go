package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPagesShowExamples checks that all code on some pages is taken from files that are
// compiled and run by tests. Shell commands and lists of output aren't compared.
func TestPagesShowExamples(t *testing.T) {
	for page, files := range map[string][]string{
		"operations":             {"examples/production/service.go", "metrics/snowkeyprom/example_test.go", "metrics/snowkeyotel/example_test.go"},
		"services-and-databases": {"examples/services/main.go", "example_test.go"},
		"public-ids":             {"schema/pk/example_test.go", "schema/pk/public/example_test.go"},
		"web":                    {"examples/web/*_test.go", "test/entgql/graph/resolver.go"},
		"sessions":               {"examples/session/*.go"},
		"recipes": {"test/recipes/*_test.go", "test/recipes/*/*_test.go", "test/gormid/ginvueadmin_test.go",
			"test/recipes/gozero/schema.sql", "test/recipes/gozero/template/model/*.tpl"},
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
		blocks, compared := strings.Split("\n"+read(t, "docs/"+page+".md"), "\n```"), 0
		for i := 1; i < len(blocks); i += 2 {
			language, block, _ := strings.Cut(blocks[i], "\n")
			if language != "go" && (page != "recipes" || language == "sh") {
				continue
			}
			if compared++; !strings.Contains(all, plain(block)) {
				t.Errorf("%s: no file has\n%s", page, block)
			}
		}
		if compared < 3 {
			t.Errorf("%s has only %d blocks of code", page, compared)
		}
	}
}

// plain returns code with a single space between words.
func plain(code string) string { return strings.Join(strings.Fields(code), " ") + " " }
