package vet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// The page has a table of the rules.
func TestDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("| rule | finds | remedy |\n|---|---|---|\n")
	for _, a := range Analyzers(Config{}) {
		finds, remedy, _ := strings.Cut(a.Doc, "\n\n")
		page := strings.TrimPrefix(strings.TrimPrefix(a.URL, Docs), "leaving-auto-increment.md")
		fmt.Fprintf(&table, "| [%s](%s) | %s | %s |\n", a.Name, page, finds, remedy)
	}
	text, err := os.ReadFile("../docs/leaving-auto-increment.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("a module by itself does not have the page")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "<!-- rules -->\n"+table.String()+"<!-- end -->") {
		t.Errorf("the page must have this table:\n%s", table.String())
	}
}
