package docs_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var (
	codeBlock  = regexp.MustCompile("(?s)```.*?```")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkTarget = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)|(?:src|srcset|href)="([^":#]+)"`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// Every file and every heading that is linked to must exist.
func TestLinks(t *testing.T) {
	pages := dbtest.Must(markdown())(t)
	for page, text := range pages {
		for _, problem := range broken(pages, page, text) {
			t.Errorf("%s: %s", page, problem)
		}
	}
	if len(pages) < 20 {
		t.Errorf("only %d pages: %v", len(pages), maps.Keys(pages))
	}
}

// markdown returns the text of every page in the repository.
func markdown() (map[string]string, error) {
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == ".git" || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			pages[path] = string(text)
			return err
		}
		return nil
	})
	return pages, err
}

// broken returns the problems with the links of a page.
func broken(pages map[string]string, page, text string) (problems []string) {
	prose := inlineCode.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	for _, m := range linkTarget.FindAllStringSubmatch(prose, -1) {
		file, anchor := m[1]+m[3], m[2]
		target, content := page, text
		if file != "" {
			target = filepath.Join(filepath.Dir(page), file)
			content = pages[target]
			if _, known := pages[target]; !known {
				if _, err := os.Stat(target); err != nil {
					problems = append(problems, err.Error())
					continue
				}
			}
		}
		if anchor != "" && filepath.Ext(target) == ".md" && !anchors(content)[anchor] {
			problems = append(problems, fmt.Sprintf("%s has no heading #%s", target, anchor))
		}
	}
	return problems
}

// anchors returns the anchors that GitHub generates for the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(codeBlock.ReplaceAllString(text, "")) {
		title, heading := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !strings.HasPrefix(line, "#") || !heading {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(linkText.ReplaceAllString(title, "$1")))
		unique := name
		for n := 1; names[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		names[unique] = true
	}
	return names
}
