package sqlgen

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// blocks returns the blocks of a language that docs/sql-default.md has for a database.
// PostgreSQL has those outside the sections of the other databases.
func blocks(t *testing.T, database, language string) (found []string) {
	t.Helper()
	page := dbtest.Must(os.ReadFile("../../docs/sql-default.md"))(t)
	for section := range strings.SplitSeq(string(page), "\n## ") {
		of, _, _ := strings.Cut(section, "\n")
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
			text := dbtest.Must(os.ReadFile(file))(t)
			code.Write(text)
		}
		for _, block := range blocks(t, database, "go") {
			if !strings.Contains(code.String(), block) {
				t.Errorf("%v do not have the code\n%s", files, block)
			}
		}
	}
	db := postgreSQL(t).Connect(t)
	install(t, db, sqlgen.Writer{})
	for _, block := range blocks(t, "PostgreSQL", "sql") {
		run(t, db, block)
	}
	if ids := query(t, db, "SELECT DISTINCT id FROM orders"); len(ids) != 5 {
		t.Errorf("%d rows, want 5", len(ids))
	}
	db = mariaDB(t).Connect(t)
	run(t, db, onMariaDB(t, sqlgen.Writer{})...)
	code := blocks(t, "MariaDB", "sql")[0]
	for block := range strings.SplitSeq(code, "\n\n") {
		run(t, db, block)
	}
	if ids := query(t, db, "SELECT DISTINCT id FROM orders"); len(ids) != 4 {
		t.Errorf("MariaDB: %d rows, want 4", len(ids))
	}
	trigger := strings.ReplaceAll(sqlgen.Writer{}.MySQLTrigger("orders", "id"), "`", "")
	if !strings.Contains(code, trigger+";") {
		t.Errorf("the page does not have\n%s", trigger)
	}
}
