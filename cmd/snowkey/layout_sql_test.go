package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/timesql"
)

// TestLayoutSQL checks that the command prints the statements that test/timesql runs on
// each server.
func TestLayoutSQL(t *testing.T) {
	t.Parallel()
	for _, dialect := range timesql.Dialects {
		for name, layout := range idgen.Presets() {
			create, drop, err := timesql.Statements(layout, dialect)
			dbtest.NoError(t, err)
			got := call(t, nil, "layout", name, "--sql", dialect)
			for _, statement := range create {
				if got.status != 0 || !strings.Contains(got.out, "\n"+statement) {
					t.Errorf("%s of %s: %+v lacks %s", name, dialect, got, statement)
				}
			}
			var printed struct{ Statements, Drop []string }
			got = call(t, nil, "layout", name, "--sql", dialect, "--json")
			if err := json.Unmarshal([]byte(got.out), &printed); err != nil || len(printed.Statements) != len(create) || len(printed.Drop) != len(drop) {
				t.Errorf("%s of %s: %+v (%v)", name, dialect, got, err)
			}
		}
	}
	if byName, none := call(t, nil, "layout", "default", "--sql", "sqlite"), call(t, nil, "layout", "--sql", "sqlite"); byName != none {
		t.Errorf("without a layout: %+v", none)
	}
	call(t, nil, "layout", "--sql", "sqlite", "0:1 | time:51 x 1µs since 2026-01-01T00:00:00Z | sequence:12").says(t, 1, "precision of 1ms")
}

func TestLayoutSQLFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "functions")
	if got := call(t, nil, "layout", "--sql", "mariadb", "--files", dir, "--format", "golang-migrate"); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	create, drop, err := timesql.Statements(idgen.DefaultLayout(), "mariadb")
	dbtest.NoError(t, err)
	requireMigration(t, dir, "snowkey_functions", create, drop)
}

// requireMigration compares the statements in the two files of a migration.
func requireMigration(t *testing.T, dir, name string, up, down []string) {
	t.Helper()
	for suffix, want := range map[string][]string{"up": up, "down": down} {
		files, err := filepath.Glob(filepath.Join(dir, "*_"+name+"."+suffix+".sql"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if text, err := os.ReadFile(files[0]); err != nil || string(text) != strings.Join(want, ";\n")+";\n" {
			t.Errorf("%s, %v", text, err)
		}
	}
}
