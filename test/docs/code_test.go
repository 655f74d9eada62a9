package docs_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/fleet"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

// TestPagesShowExamples checks that all code on some pages is taken from files that are
// compiled and run by tests. Shell commands and lists of output aren't compared.
func TestPagesShowExamples(t *testing.T) {
	readme := []string{"examples/gorm/main.go", "examples/ent/ent/schema/user.go", "examples/ent/main.go", "schema/pk/public/example_test.go", "test/docs/existing_test.go"}
	for page, files := range map[string][]string{
		"README.md":          readme,
		"README.zh-CN.md":    readme,
		"docs/operations.md": {"examples/production/service.go", "metrics/snowkeyprom/example_test.go", "metrics/snowkeyotel/example_test.go"},
		"docs/services.md":   {"examples/services/main.go", "example_test.go", "service/example_test.go", "service/client/client_test.go", "test/autoinc/rekey_example_test.go"},
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

// The page must show the file of the example, a line with a layout that the file accepts,
// and the error as it is printed.
func TestServicesShowsTheFile(t *testing.T) {
	blocks := strings.Split(read(t, "docs/services.md"), "```text\n")[1:]
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of text", len(blocks))
	}
	if file := read(t, "examples/services/fleet.txt"); blocks[0] != file {
		t.Errorf("the file is\n%s\nand the page has\n%s", file, blocks[0])
	}
	f, err := fleet.Parse(blocks[1] + blocks[0])
	if err != nil || f.Layout.String() != idgen.JSSafe().String() {
		t.Errorf("%s: %v", blocks[1], err)
	}
	if !strings.Contains(read(t, "example_test.go"), "// Output: "+blocks[2]) {
		t.Errorf("no example prints %s", blocks[2])
	}
}

type user struct{}

func (user) Prefix() string { return "user" }

// The command on the page must print a key.
func TestPublicIDsMakeKey(t *testing.T) {
	page := cut(t, read(t, "docs/web.md"), "## Public ids", "", "\n## ")
	_, block, ok := strings.Cut(page, "```sh\n")
	command, _, _ := strings.Cut(block, "\n```")
	if !ok || strings.Count(page, "```sh") != 1 {
		t.Fatalf("the page has no command, or several: %q", command)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	var keys []string
	for _, version := range []string{"A:", "B:"} {
		keys = append(keys, version+string(dbtest.Must(exec.Command("sh", "-c", command).Output())(t)))
	}
	if _, err := public.Load(strings.Join(keys, "")); err != nil {
		t.Errorf("%s: %v", command, err)
	}
	if _, err := public.Load("A"); err == nil || !strings.HasSuffix(err.Error(), command) {
		t.Errorf("errors name another command: %v", err)
	}
}

// The table of the page must have the text of each form.
func TestPublicIDsShowsForms(t *testing.T) {
	const id = 1234567890123456789
	page := read(t, "docs/web.md")
	keys := read(t, "schema/pk/public/example_test.go")
	_, keys, _ = strings.Cut(keys, `const publicIDKeys = "`)
	keys, _, _ = strings.Cut(keys, `"`)
	codec := dbtest.Must(public.Load(keys))(t)
	hidden := dbtest.Must(codec.Encode("user", id))(t)
	for form, text := range map[string]string{
		"[pk.ID](../schema/pk/doc.go)": pk.ID(id).String(), "`pk.SortText`": pk.SortText(id).String(), "`pk.Prefixed[User]`": pk.Prefixed[user](id).String(),
		"`pk.FormatHex`": pk.FormatHex(id), "`pk.FormatBase58`, which has no 0, O, I and l": pk.FormatBase58(id),
		"`pk.FormatBase62`": pk.FormatBase62(id), "`public.ID[User]`": hidden,
	} {
		if row := " | " + form + " | `" + text + "` |\n"; !strings.Contains(page, row) {
			t.Errorf("the page has no row that ends with%s", row)
		}
	}
}
