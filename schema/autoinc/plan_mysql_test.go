package autoinc

import (
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// Tables should come after the tables they reference, other than themselves. If tables
// reference each other in a ring, the sort must still terminate.
func TestParentsFirst(t *testing.T) {
	for _, tc := range []struct{ references, want string }{
		{"", "[]"},
		{"a>a", "[a]"},
		{"a>b b>c", "[b a]"}, // c has no foreign keys to add, so it isn't in the list
		{"a>b b>b c>a c>b", "[b a c]"},
		{"a>b b>a c>a", "[a b c]"}, // a ring
	} {
		var references []reference
		var tables []catalog.Name
		var names []string
		for i := 0; i+2 < len(tc.references); i += 4 {
			child, parent := tc.references[i:i+1], tc.references[i+2:i+3]
			references = append(references, reference{Child: catalog.Name{Name: child}, Parent: catalog.Name{Name: parent}})
			if len(tables) == 0 || tables[len(tables)-1].Name != child {
				tables = append(tables, catalog.Name{Name: child})
			}
		}
		for _, table := range parentsFirst(tables, references) {
			names = append(names, table.Name)
		}
		if got := fmt.Sprint(names); got != tc.want {
			t.Errorf("of %q: got %s, want %s", tc.references, got, tc.want)
		}
	}
}
