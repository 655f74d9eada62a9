package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunTwice checks that each run adds its rows to the same file, and that no key is
// repeated.
func TestRunTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quick #1.db")
	for run := 1; run <= 2; run++ {
		var out strings.Builder
		if err := quickstart(context.Background(), &out, file); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ent   user Ada", "GORM  user Grace", "GORM  post Compilers", "Barbara", file} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("run %d does not print %q:\n%s", run, want, out.String())
			}
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := countRows(context.Background(), db)
		if err != nil || rows != 8*run {
			t.Errorf("run %d: %d rows, %v; want %d", run, rows, err, 8*run)
		}
		// The program must report a repeated key.
		if _, err := db.Exec(`INSERT INTO posts (id, title, author_id) SELECT id, name, id FROM users WHERE name = 'Ada' LIMIT 1`); err != nil {
			t.Fatal(err)
		}
		if _, err := countRows(context.Background(), db); err == nil {
			t.Error("a repeated key was not found")
		}
		if _, err := db.Exec(`DELETE FROM posts WHERE title = 'Ada'`); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
