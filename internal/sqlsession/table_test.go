package sqlsession

import (
	"database/sql"
	"embed"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

func TestNamesOfTables(t *testing.T) {
	for _, name := range []string{
		"", ".", "a.", ".a", "a.b.c", "a b", "a-b", "1a", "a;b", `a"b`, "a`b", "a'b", "ä", "a\n", "a$b",
		strings.Repeat("x", 52), strings.Repeat("x", 52) + ".a", strings.Repeat("x", 1<<20),
	} {
		t.Run(fmt.Sprintf("%.60q", name), func(t *testing.T) {
			_, err := NewTable(new(sql.DB), sqldialect.SQLite, "a", embed.FS{}).WithName(name)
			if want := fmt.Sprintf("snowkey: %.120q cannot be the name of a table", name); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v", err)
			} else if len(err.Error()) > 400 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}
