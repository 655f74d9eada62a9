package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The versions listed in docs/operations.md must be those that the go.mod files require. The
// oldest version is in the published modules, and the newest in bench. The README has the
// oldest.
func TestReadmeShowsTheVersions(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| (\S+/\S+) \| (v\S+) \| (v\S+) \|$`)
	rows := row.FindAllStringSubmatch(read(t, "docs/operations.md"), -1)
	if len(rows) != 5 {
		t.Fatalf("docs/operations.md has %d versions, want 5", len(rows))
	}
	var published strings.Builder
	for _, dir := range []string{"", "ent/entid/", "hooks/gormid/", "hooks/bunid/", "hooks/pgxid/", "internal/dbtest/"} {
		published.WriteString(strings.ReplaceAll(read(t, dir+"go.mod"), "\nrequire ", "\n\t"))
	}
	_, readme, _ := strings.Cut(read(t, readmes[0]), "\n## Versions\n")
	for _, r := range rows {
		if oldest := strings.TrimPrefix(r[2], "v"); !regexp.MustCompile(`\w ` + regexp.QuoteMeta(oldest) + `\b`).MatchString(readme) {
			t.Errorf("the README doesn't have the oldest version of %s, %s", r[1], oldest)
		}
		for _, c := range []struct{ in, version string }{{published.String(), r[2]}, {strings.ReplaceAll(read(t, "bench/go.mod"), " // indirect", ""), r[3]}} {
			if !strings.Contains(c.in, "\t"+r[1]+" "+c.version+"\n") {
				t.Errorf("no go.mod requires %s %s", r[1], c.version)
			}
		}
	}
	if oldest := "| Go | 1.26.0 |"; !strings.Contains(read(t, "docs/operations.md"), oldest) || !strings.Contains(readme, "Go 1.26;") || !strings.Contains(read(t, "go.mod"), "\ngo 1.26.0\n") {
		t.Errorf("the README, docs/operations.md and go.mod do not agree on %s", oldest)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	return string(dbtest.Must(os.ReadFile(root + name))(t))
}

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
