package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const vetProgram = `package main

import "database/sql"

type User struct {
	ID   int64 ` + "`db:\"id\" json:\"id\"`" + `
	Name string
}

type Audit struct {
	ID int64 ` + "`db:\"id\" json:\"id\"`" + `
}

func add(db *sql.DB, name string) error {
	_, err := db.Exec("INSERT INTO users (name) VALUES (?)", name)
	return err
}

func main() {}
`

// With a plan or a database, vet reports only keys of its tables.
func TestVet(t *testing.T) {
	dbtest.SQLite(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/shop\n\ngo 1.26\n", "main.go": vetProgram, "page.ts": "const id = Number(row.id);\n", "shop.db": ""} {
		dbtest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	dsn, plan := filepath.Join(dir, "shop.db"), filepath.Join(dir, "leave.sql")
	db := dbtest.Must(openSQLite(dsn, true))(t)
	dbtest.Must(db.Exec("CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)"))(t)
	dbtest.NoError(t, db.Close())
	call(t, nil, "migrate", "plan", "--dsn", dsn, "-o", plan).prints(t, 0)
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")

	insert := "main.go:15:20: breaks: INSERT INTO users leaves its key id to the database [insert]\n  → Call sqlid.Fill"
	for _, c := range []struct {
		args  []string
		lines []string
	}{
		{[]string{"vet"}, []string{insert, "User.ID holds a key", "Audit.ID holds a key", "3 break, 0 to check, 0 hints"}},
		{[]string{"vet", "--jssafe", "./..."}, []string{insert, "1 break, "}},
		{[]string{"vet", "--dsn", dsn}, []string{insert, "User.ID holds a key", "2 break, "}},
		{[]string{"vet", "--plan", plan}, []string{insert, "User.ID holds a key", "2 break, "}},
		{[]string{"vet", "--api", "page.ts"}, []string{"page.ts:1:19: breaks: row.id becomes a number [javascript]", "1 break, "}},
		{[]string{"vet", "--api", ".", "--json"}, []string{`"rule":"javascript"`}},
	} {
		got := call(t, nil, c.args...)
		got.prints(t, 1, c.lines...)
		got.says(t, 1, "something breaks with generated keys")
	}
	call(t, nil, "vet", "--api", "page.ts", "--jssafe").prints(t, 0, "0 break, 0 to check, 0 hints\n")
	call(t, nil, "vet", "./nothing").says(t, 1, "doesn't compile")
}
