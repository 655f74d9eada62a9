package vet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each rule has a folder in testdata. Its faults have a comment that begins with want, or with
// missed if the rule doesn't find them. Code that only looks like a fault is marked fine.
func TestRules(t *testing.T) {
	for _, a := range Analyzers(Config{}) {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), a, a.Name+"/...")
		})
	}
}

func TestFixes(t *testing.T) {
	narrow := Analyzers(Config{})[5]
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), narrow, "narrow")
}

// At least nine of ten faults are found, and there are as many lookalikes.
func TestShareOfFaults(t *testing.T) {
	count := make(map[string]int)
	comment := regexp.MustCompile(`// (want|missed|fine)\b`)
	err := filepath.WalkDir("testdata/src", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range comment.FindAllStringSubmatch(string(text), -1) {
			count[m[1]]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(count)
	faults := count["want"] + count["missed"]
	if faults < 60 || count["want"]*10 < faults*9 || count["fine"] < faults {
		t.Errorf("%d of %d faults are found beside %d lookalikes; want 9 of 10, of at least 60, and as many lookalikes", count["want"], faults, count["fine"])
	}
}

// With ids below 2^53, JSON numbers and float64 hold every key.
func TestSafe(t *testing.T) {
	for _, a := range Analyzers(Config{Safe: true}) {
		if a.Name == "jsonnumber" {
			for _, r := range analysistest.Run(ignore{t}, analysistest.TestData(), a, "jsonnumber") {
				if len(r.Diagnostics) > 0 {
					t.Errorf("%d findings", len(r.Diagnostics))
				}
			}
		}
	}
}

// With the tables of a plan, keys of other tables aren't reported.
func TestTables(t *testing.T) {
	for _, a := range Analyzers(Config{Tables: []string{"orders"}}) {
		if a.Name != "column" {
			continue
		}
		for _, r := range analysistest.Run(ignore{t}, analysistest.TestData(), a, "column") {
			for _, d := range r.Diagnostics {
				if !strings.Contains(d.Message, "Order.") && !strings.Contains(d.Message, "SQL") {
					t.Errorf("another table: %s", d.Message)
				}
			}
			if len(r.Diagnostics) < 2 {
				t.Errorf("%d findings; want the two of Order", len(r.Diagnostics))
			}
		}
	}
}

// An ignore ignores that expected findings are missing.
type ignore struct{ *testing.T }

func (ignore) Errorf(string, ...any) {}

// Templates may be files anywhere in the module. Those of other languages are skipped.
func TestTemplateFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                  "module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/snowkey-go/snowkey v0.1.0\n\nreplace github.com/snowkey-go/snowkey => ./snowkey\n",
		"user/user.go":            "package user\n\nimport \"github.com/snowkey-go/snowkey/schema/pk\"\n\ntype User struct {\n\tID pk.String `gorm:\"primaryKey\"`\n}\n",
		"snowkey/go.mod":          "module github.com/snowkey-go/snowkey\n\ngo 1.26.0\n",
		"snowkey/schema/pk/pk.go": "package pk\n\ntype String string\n",
		"pages/user.html":         "<h1>\n{{.User.ID}} {{printf \"%d\" .User.ID}}\n",
		"pages/vue.html":          "{{ user.id === 5 }} {{printf \"%d\" .User.ID}}",
		"testdata/user.html":      "{{printf \"%d\" .User.ID}}",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	findings, err := Run(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%s:%d:%d %s %s %s", filepath.Base(f.Position.Filename), f.Position.Line, f.Position.Column, f.Category, f.Rule, f.Text))
	}
	const want = "user.html:2:33 breaks template .User.ID is a key, which is text, and is printed with %d. Print keys without printf, and compare them with other keys"
	if !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want only %q", got, want)
	}
}

func TestSingulars(t *testing.T) {
	for table, one := range map[string]string{
		"users": "user", "user": "user", "caches": "cache", "matches": "match", "databases": "database", "statuses": "status", "addresses": "address",
		"boxes": "box", "sizes": "size", "wishes": "wish", "categories": "category", "movies": "movie", "access": "access",
	} {
		if got := singulars(table); !slices.Contains(got, one) {
			t.Errorf("one of %s may be a %q, but is a %s", table, got, one)
		}
	}
}

// RULES.md has a row for each rule.
func TestDocs(t *testing.T) {
	for _, r := range rules {
		if r.check == nil || r.finds == "" || r.remedy == "" {
			t.Errorf("%+v", r)
		}
	}
	if rows := strings.Count(rulesPage, "\n| ["); len(rules) != len(checks) || len(rules) != rows {
		t.Errorf("%d rules, %d checks, %d rows in RULES.md", len(rules), len(checks), rows)
	}
}
