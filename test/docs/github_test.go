package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A tag of an action can be moved to other code. A commit can't.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob(root + ".github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	pinned := regexp.MustCompile(`@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		text := dbtest.Must(os.ReadFile(file))(t)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.Contains(line, "uses: ") && !pinned.MatchString(line) {
				t.Errorf("%s: %s", filepath.Base(file), line)
			}
		}
	}
}

// Dependabot raises what the programs require, and leaves the lowest versions of libraries
// alone. lowest.work has the libraries and the module test, and go.work the programs too.
func TestVersionsAreRaisedInPrograms(t *testing.T) {
	dependabot, lowest := read(t, ".github/dependabot.yml"), read(t, "lowest.work")
	modules := 0
	for module := range strings.FieldsSeq(read(t, "newest.work")) {
		dir, ok := strings.CutPrefix(module, "./")
		if !ok || dir == "" {
			continue
		}
		modules++
		raised, held := strings.Contains(dependabot, "      - /"+dir+"\n"), strings.Contains(lowest, "\t./"+dir+"\n")
		if program := regexp.MustCompile(`^(bench|cmd|examples|test/)`).MatchString(dir); raised != program || held == program {
			t.Errorf("%s: dependabot.yml has it: %t, lowest.work has it: %t", dir, raised, held)
		}
	}
	if modules < 20 {
		t.Errorf("newest.work has only %d modules", modules)
	}
}
