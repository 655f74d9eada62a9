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
		"docs/layouts.md":    {"idgen/example_test.go"},
		"docs/leases.md":     {"test/docs/leases_test.go"},
		"docs/web.md": {"examples/web/*_test.go", "examples/session/*.go", "schema/pk/example_test.go", "schema/pk/public/example_test.go",
			"test/entgql/graph/resolver.go", "test/entgql/graph/gqlgen.yml"},
		"docs/gorm.md": {"examples/gorm/main.go", "test/docs/existing_test.go", "test/gormid/refuse_test.go", "test/recipes/datatypes_test.go"},
		"docs/ent.md":  {"examples/ent/ent/schema/user.go", "examples/ent/main.go", "test/entid/internal/ent/schema/schema.go", "test/entgql/ent/schema/schema.go"},
		"docs/bun.md":  {"examples/bun/main.go", "hooks/bunid/example_test.go", "test/docs/existing_test.go"},
		"docs/sql.md": {"examples/sql/main.go", "examples/pgx/main.go", "test/docs/existing_test.go", "test/sqlc/sqlc.yaml",
			"test/recipes/*_test.go", "test/recipes/goframe/keys.go"},
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
		all := strings.NewReplacer("login10(", "login(", exampleClient, "shop/ent").Replace(code.String())
		blocks, compared := strings.Split("\n"+read(t, page), "\n```"), 0
		for i := 1; i < len(blocks); i += 2 {
			language, block, _ := strings.Cut(blocks[i], "\n")
			shown := language == "go" || language == "yaml" && (page == "docs/sql.md" || strings.HasPrefix(block, "models:"))
			if !shown || strings.HasPrefix(block, "//go:build ignore") { // test/modproxy runs this one
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

// The client of ent has another name in a program that starts in an empty folder.
const exampleClient = "github.com/snowkey-go/snowkey/examples/ent/ent"

// The page of each ORM and driver begins with a whole program, which is an example. Tests of
// modproxy run them.
func TestPagesBeginWithPrograms(t *testing.T) {
	for _, c := range []struct{ page, section, example string }{
		{"gorm.md", "# GORM", "gorm"},
		{"ent.md", "# ent", "ent"},
		{"bun.md", "# bun", "bun"},
		{"sql.md", "## database/sql", "sql"},
		{"sql.md", "## pgx", "pgx"},
	} {
		text := cut(t, "\n"+read(t, "docs/"+c.page), "\n"+c.section+"\n", "", "\n#")
		program := strings.ReplaceAll(read(t, "examples/"+c.example+"/main.go"), exampleClient, "shop/ent")
		if !strings.Contains(text, "```go\n"+program+"```") || !strings.Contains(program, "snowkey.Open(") {
			t.Errorf("docs/%s, %s doesn't begin with\n%s", c.page, c.section, program)
		}
	}
}

// plain returns code with a single space between words.
func plain(code string) string { return strings.Join(strings.Fields(code), " ") + " " }
