package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

func TestNextVersions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"no folder", nil, []string{"20261231235959", "20270101000000"}},
		{"no version", []string{"readme.sql", "2.txt"}, []string{"20261231235959", "20270101000000"}},
		{"numbers", []string{"0001_a.up.sql", "0009_b.sql", "atlas.sum"}, []string{"0010", "0011"}},
		{"more digits", []string{"99_a.sql"}, []string{"100", "101"}},
		{"times", []string{"20200101000000_a.sql"}, []string{"20261231235959", "20270101000000"}},
		{"a time to come", []string{"20300101000000_a.sql"}, []string{"20300101000001", "20300101000002"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "files")
			for _, name := range c.files {
				dbtest.NoError(t, os.MkdirAll(dir, 0o755))
				dbtest.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
			}
			if got, err := nextVersions(dir, 2, now); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q: %v", got, c.want, err)
			}
		})
	}
}

func filesPlan() *autoinc.Plan {
	return &autoinc.Plan{Dialect: catalog.SQLite, Phases: []autoinc.Phase{
		{Name: autoinc.Widen, Steps: []autoinc.Step{{ID: "widen/1", Run: autoinc.Count, SQL: "SELECT 1"}}},
		{Name: autoinc.Fence, Steps: []autoinc.Step{{ID: "fence/1", Run: autoinc.Exec, SQL: "SELECT 2", Undo: []string{"SELECT 3"}}}},
	}}
}

// If anything is wrong, no file is written, and none is overwritten.
func TestWriteFilesOrNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	online := filesPlan()
	online.Online = true
	var usage *usageError
	write := func(p *autoinc.Plan, tool string) ([]string, error) {
		migrations, err := asMigrations(p)
		if err != nil {
			return nil, err
		}
		return writeFiles(migrations, dir, tool, now)
	}
	if _, err := write(online, "goose"); !errors.As(err, &usage) || !strings.Contains(err.Error(), "without --online") {
		t.Errorf("--online: %v", err)
	}
	if _, err := write(filesPlan(), "flyway"); !errors.As(err, &usage) || !strings.Contains(err.Error(), `"flyway"`) {
		t.Errorf("another format: %v", err)
	}
	if _, err := write(&autoinc.Plan{}, "goose"); err == nil || !strings.Contains(err.Error(), "nothing to do") {
		t.Errorf("an empty plan: %v", err)
	}
	// The second file can't be written, because the folder undo is a file.
	dbtest.NoError(t, os.WriteFile(filepath.Join(dir, "undo"), nil, 0o644))
	if _, err := write(filesPlan(), "atlas"); err == nil {
		t.Error("a file in the way was not noticed")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left: %v", left, err)
	}
	names, err := write(filesPlan(), "golang-migrate")
	want := []string{filepath.Join(dir, "20261231000000_snowkey_fence.down.sql"), filepath.Join(dir, "20261231000000_snowkey_fence.up.sql")}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q: %v", names, err)
	}
	requireMigration(t, dir, "snowkey_fence", []string{"SELECT 2"}, []string{"SELECT 3"})
}
