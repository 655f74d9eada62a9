package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// The documentation may not grow above these limits. Lower them whenever it gets shorter.
const (
	maxPages     = 16
	maxWords     = 31_950
	maxPageWords = 2_500
)

func TestSize(t *testing.T) {
	pages, err := filepath.Glob(root + "docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	sum := 0
	for _, path := range pages {
		words := len(strings.Fields(read(t, "docs/"+filepath.Base(path))))
		sum += words
		if words > maxPageWords {
			t.Errorf("docs/%s has %d words, at most %d are allowed: shorten it, or split it by task", filepath.Base(path), words, maxPageWords)
		}
	}
	if len(pages) > maxPages || sum > maxWords {
		t.Errorf("docs has %d pages with %d words, at most %d with %d are allowed", len(pages), sum, maxPages, maxWords)
	}
}
