package api

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The files in testdata have a comment on each line with a fault. Faults that ids below 2^53
// don't have are marked safe.
func TestCheck(t *testing.T) {
	faults := 0
	for _, name := range []string{"openapi.yaml", "shop.proto", "schema.graphql", "query.graphql", "page.ts"} {
		for _, safe := range []bool{false, true} {
			path := filepath.Join("testdata", name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[string]bool)
			line := 0
			for code := range strings.Lines(string(text)) {
				line++
				_, fault, ok := strings.Cut(strings.TrimSpace(code), " fault")
				if ok && !(safe && (fault == " safe" || filepath.Ext(name) == ".ts")) {
					want[name+":"+strconv.Itoa(line)] = true
				}
			}
			faults += len(want)
			findings, err := Check(path, Options{Safe: safe})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				at := filepath.Base(f.Position.Filename) + ":" + strconv.Itoa(f.Position.Line)
				if !want[at] {
					t.Errorf("safe %v: %s: %s", safe, at, f.Text)
				}
				delete(want, at)
			}
			for at := range want {
				t.Errorf("safe %v: nothing is found in %s", safe, at)
			}
		}
	}
	if faults < 40 {
		t.Errorf("%d faults; were the files read?", faults)
	}
}

// A folder is read as a whole; a file that can't be read is an error that names it.
func TestFiles(t *testing.T) {
	findings, err := Check("testdata", Options{})
	if err != nil || len(findings) < 25 {
		t.Errorf("the folder has %d findings: %v", len(findings), err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.proto": "message {", "a.graphql": "type {", "a.yaml": "a: [", "b.yaml": "name: x", "a.txt": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(path, Options{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Check(filepath.Join(dir, "missing.yaml"), Options{}); err == nil {
		t.Error("a missing file is no error")
	}
}
