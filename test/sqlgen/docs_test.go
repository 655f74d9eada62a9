package sqlgen

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// blocks returns the blocks of a language that docs/sql-default.md has for a database.
// PostgreSQL has those outside the sections of the other databases.
func blocks(t *testing.T, database, language string) (found []string) {
	t.Helper()
	page := dbtest.Must(os.ReadFile("../../docs/sql-default.md"))(t)
	for section := range strings.SplitSeq(string(page), "\n## ") {
		of, _, _ := strings.Cut(section, "\n")
		if of == "Partitions by time" {
			continue // test/timesql runs these
		}
		if !regexp.MustCompile("^(MySQL|MariaDB|SQLite)$").MatchString(of) {
			of = "PostgreSQL"
		}
		for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(section, -1) {
			if of == database {
				found = append(found, block[1])
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("docs/sql-default.md has no block of %s for %s", language, database)
	}
	return found
}

// TestPage runs the SQL of docs/sql-default.md, and finds its Go code in the tests.
func TestPage(t *testing.T) {
	t.Parallel()
	for database, files := range map[string][]string{"PostgreSQL": {"ent_test.go", "orm_test.go"}, "SQLite": {"sqlite_test.go"}} {
		var code strings.Builder
		for _, file := range files {
			code.Write(dbtest.Must(os.ReadFile(file))(t))
		}
		for _, block := range blocks(t, database, "go") {
			if !strings.Contains(code.String(), block) {
				t.Errorf("%v do not have the code\n%s", files, block)
			}
		}
	}
	eachKind(t, func(t *testing.T, server dbtest.DB, k kind) {
		database, between, want := "PostgreSQL", "\n\n\n", 5 // no statement of its blocks ends there
		if k.mariaDB {
			database, between, want = "MariaDB", "\n\n", 4
		} else if server.Dialect == "mysql" {
			database, between, want = "MySQL", ";\n", 3
		}
		db := server.Connect(t)
		db.SetMaxOpenConns(1) // for the variable of MySQL
		dbtest.Exec(t, db, k.on(t, sqlgen.Writer{})...)
		code := blocks(t, database, "sql")
		if database == "MySQL" {
			code = append(code, blocks(t, "MariaDB", "sql")[1]) // removes the trigger
		}
		for _, block := range code {
			for statement := range strings.SplitSeq(strings.TrimSpace(block), between) {
				dbtest.Exec(t, db, statement)
			}
		}
		if ids := query(t, db, "SELECT DISTINCT id FROM orders WHERE id > 1000000"); len(ids) != want {
			t.Errorf("%d rows, want %d", len(ids), want)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO orders (name) VALUES ('milk')"); err == nil {
			t.Error("after the default or the trigger was removed, a row without an id is accepted")
		}
		trigger := strings.ReplaceAll(trigger("orders"), "`", "")
		if server.Dialect == "mysql" && !strings.Contains(strings.Join(code, ""), trigger) {
			t.Errorf("the page does not have\n%s", trigger)
		}
	})
}
