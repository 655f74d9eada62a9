package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageShowsTheTests checks that all Go code in docs/web.md is taken from these
// tests, which guarantees that it compiles and does what the page says.
func TestPageShowsTheTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range append(files, "../../test/entgql/graph/resolver.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.WriteString(unindent(string(text)))
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Errorf("%s shows no code", page)
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```\n")
		if !strings.Contains(code.String(), unindent(block)) {
			t.Errorf("%s shows code that no test has:\n%s", page, block)
		}
	}
}

// unindent removes the indentation from code.
func unindent(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
