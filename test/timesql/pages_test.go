package timesql

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/timesql"
)

// sqlBlock matches a block of SQL, whose first line says where it runs.
var sqlBlock = regexp.MustCompile("(?s)```sql\n-- ([^\n]*)\n(.*?)\n```")

// marks are the first lines of the blocks for a database. A block for a single version
// has the version in its line.
var marks = map[string][]string{
	"postgres":   {"PostgreSQL"},
	"postgres18": {"PostgreSQL", "PostgreSQL 18"},
	"mysql":      {"MySQL and MariaDB"},
	"mariadb":    {"MySQL and MariaDB"},
	"sqlite":     {"SQLite"},
}

// pageText returns the text of a page, or of one section: "page.md#Section".
func pageText(t *testing.T, page string) string {
	t.Helper()
	page, section, part := strings.Cut(page, "#")
	text := string(dbtest.Must(os.ReadFile("../../docs/" + page))(t))
	if !part {
		return text
	}
	_, text, found := strings.Cut(text, "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// statements returns the statements of a page for a database, in order. They are separated by empty
// lines.
func statements(t *testing.T, page string, db dbtest.DB) (all []string) {
	t.Helper()
	database := kind(db)
	if postgres18(db) {
		database = "postgres18"
	}
	for _, block := range sqlBlock.FindAllStringSubmatch(pageText(t, page), -1) {
		for _, mark := range marks[database] {
			if block[1] == mark {
				for s := range strings.SplitSeq(block[2], "\n\n") {
					all = append(all, strings.TrimSuffix(strings.TrimSpace(s), ";"))
				}
			}
		}
	}
	return all
}

// TestMarks checks that each block of SQL on the pages is run somewhere.
func TestMarks(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"layouts.md", "sql-default.md#Partitions by time", "leaving-snowkey.md"} {
		text := pageText(t, page)
		known := map[string]bool{"ClickHouse": true} // see TestNightlyClickHouse
		for _, list := range marks {
			for _, mark := range list {
				known[mark] = true
			}
		}
		blocks := sqlBlock.FindAllStringSubmatch(text, -1)
		if n := strings.Count(text, "```sql\n") - strings.Count(text, "```sql\nSELECT …"); n != len(blocks) || n < 4 {
			t.Errorf("%s: %d of %d blocks have a mark", page, len(blocks), n)
		}
		for _, block := range blocks {
			if !known[block[1]] {
				t.Errorf("%s: no test runs the blocks of %q", page, block[1])
			}
		}
	}
}

// postgres18 reports whether the server has what is new in Postgres 18.
func postgres18(db dbtest.DB) bool { return strings.HasPrefix(db.Version, "postgres 18") }

// functions creates the functions of a layout, or does nothing on SQLite.
func functions(t *testing.T, db dbtest.DB, conn execer, l idgen.Layout) {
	t.Helper()
	create, drop, err := timesql.Statements(l, kind(db))
	dbtest.NoError(t, err)
	if drop != nil {
		dbtest.Exec(t, conn, create...)
	}
}

// output returns all cells of a query as text.
func output(t *testing.T, conn execer, query string) string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s\n%v", query, err)
	}
	defer rows.Close()
	columns := dbtest.Must(rows.Columns())(t)
	var b strings.Builder
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		to := make([]any, len(columns))
		for i := range cells {
			to[i] = &cells[i]
		}
		dbtest.NoError(t, rows.Scan(to...))
		for i, cell := range cells {
			b.WriteString(columns[i] + "=" + cell.String + "\n")
		}
	}
	dbtest.NoError(t, rows.Err())
	return b.String()
}

// refused checks that a statement fails with an error that has this text.
func refused(t *testing.T, conn execer, statement, want string) {
	t.Helper()
	if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\n%v; want an error with %q", statement, err, want)
	}
}
