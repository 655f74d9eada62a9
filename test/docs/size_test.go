package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// The documentation may not grow above these limits. Lower them whenever it gets shorter.
const (
	maxPages     = 26
	maxWords     = 42_100
	maxPageWords = 2_500
)

// longPages have more than maxPageWords words, and at most these.
var longPages = map[string]int{
	"web.md": 2_711,
}

func TestSize(t *testing.T) {
	pages, err := filepath.Glob(root + "docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	sum := 0
	for _, path := range pages {
		name := filepath.Base(path)
		words := len(strings.Fields(read(t, "docs/"+name)))
		sum += words
		limit := maxPageWords
		if long, ok := longPages[name]; ok {
			limit = long
		}
		if words > limit {
			t.Errorf("docs/%s has %d words, at most %d are allowed: shorten it, or split it by task", name, words, limit)
		}
	}
	if len(pages) > maxPages || sum > maxWords {
		t.Errorf("docs has %d pages with %d words, at most %d with %d are allowed", len(pages), sum, maxPages, maxWords)
	}
	for name := range longPages {
		if words := len(strings.Fields(read(t, "docs/"+name))); words <= maxPageWords {
			t.Errorf("docs/%s has only %d words: remove it from longPages", name, words)
		}
	}
}
