package vet

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// RULES.md has a table of the rules.
func TestDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| rule | finds | remedy |\n|---|---|---|\n")
	for _, a := range Analyzers(Config{}) {
		finds, remedy, _ := strings.Cut(a.Doc, "\n\n")
		fmt.Fprintf(&table, "| [%s](../docs/%s) | %s | %s |\n", a.Name, strings.TrimPrefix(a.URL, Docs), finds, remedy)
	}
	text, err := os.ReadFile("RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()+"\n") {
		t.Errorf("RULES.md must have this table:\n%s", table.String())
	}
}
