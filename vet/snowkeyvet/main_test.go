package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const program = `package main

import "database/sql"

const schema = "CREATE TABLE users (id SERIAL PRIMARY KEY, name TEXT)"

func add(db *sql.DB, name string) error {
	_, err := db.Exec("INSERT INTO users (name) VALUES ($1)", name)
	return err
}

func main() {}
`

// The rules run at the same time in go vet, which also passes facts between its processes.
func TestGoVet(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/shop\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tool := filepath.Join(dir, "snowkeyvet.exe")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	vet := exec.Command("go", "vet", "-vettool="+tool, "./...")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := vet.CombinedOutput()
	if want := "main.go:8:20: INSERT INTO users leaves its key id to the database"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}
