package sqlsession

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestNamesOfTables(t *testing.T) {
	for _, name := range []string{
		"", ".", "a.", ".a", "a.b.c", "a b", "a-b", "1a", "a;b", `a"b`, "a`b", "a'b", "ä", "a\n", "a$b",
		strings.Repeat("x", 52), strings.Repeat("x", 52) + ".a", strings.Repeat("x", 1<<20),
	} {
		t.Run(fmt.Sprintf("%.60q", name), func(t *testing.T) {
			_, err := NewTable(new(sql.DB), SQLite, "a").WithName(name)
			if refused, ok := errors.AsType[*TableNameError](err); !ok || refused.Name != name {
				t.Errorf("got %v", err)
			} else if len(err.Error()) > 400 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}
