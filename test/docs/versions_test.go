package docs_test

import (
	"os"
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
	text := dbtest.Must(os.ReadFile(root + name))(t)
	return string(text)
}
