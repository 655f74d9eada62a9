package docs_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The versions listed in the README must be those that the go.mod files require. The
// oldest version is in the published modules, and the newest in bench.
func TestReadmeShowsTheVersions(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| (\S+/\S+) \| (v\S+) \| (v\S+) \|$`)
	rows := row.FindAllStringSubmatch(read(t, readmes[0]), -1)
	if len(rows) != 5 {
		t.Fatalf("the README has %d versions, want 5", len(rows))
	}
	for _, name := range readmes[1:] {
		if got := row.FindAllStringSubmatch(read(t, name), -1); !reflect.DeepEqual(got, rows) {
			t.Errorf("%s has the versions %q, want %q", name, got, rows)
		}
	}
	var published strings.Builder
	for _, dir := range []string{"", "ent/entid/", "hooks/gormid/", "hooks/bunid/", "hooks/pgxid/", "internal/dbtest/"} {
		published.WriteString(strings.ReplaceAll(read(t, dir+"go.mod"), "\nrequire ", "\n\t"))
	}
	for _, r := range rows {
		for _, c := range []struct{ in, version string }{{published.String(), r[2]}, {read(t, "bench/go.mod"), r[3]}} {
			if !strings.Contains(c.in, "\t"+r[1]+" "+c.version+"\n") {
				t.Errorf("no go.mod requires %s %s", r[1], c.version)
			}
		}
	}
	if oldest := "| Go | 1.26.0 |"; !strings.Contains(read(t, "README.md"), oldest) || !strings.Contains(read(t, "go.mod"), "\ngo 1.26.0\n") {
		t.Errorf("the README and go.mod do not agree on %s", oldest)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
